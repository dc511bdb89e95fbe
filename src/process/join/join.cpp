#include "process/join/join.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>

#include "base/cores.h"
#include "base/random.h"
#include "base/setting.h"
#include "offload/offload.h"
#include "process/join/card.h"
#include "process/join/progress_places.h"
#include "process/join/transports.h"
#include "startup/oob.h"
#include "startup/startup.h"

namespace weft {
namespace {

Result<EngineKind> engine_from_environment() {
    const Result<std::optional<std::string_view>> name = word_setting("WEFT_ENGINE");
    if (!name.is_ok()) return name.status();
    return *name ? *engine_named(**name) : default_engine;
}

// If the kernel engine cannot be used, the thread does its work.
EngineKind usable(EngineKind wanted) {
    // (Auto goes without it, and need not look for it where nothing is sent over a network.)
    const EngineTraits& engine = traits(wanted);
    if (!engine.offloads || engine.only_where_it_pays || kernel_engine_absence().empty())
        return wanted;
    std::fprintf(stderr, "weft: engine %s is not available, using thread: %s\n", engine.name,
                 kernel_engine_absence().c_str());
    return EngineKind::thread;
}

// The ranks on a machine and its cores. Emulated nodes share the cores of one machine.
struct CoreOccupancy {
    CoreOccupancy(const std::vector<RankCard>& cards, Rank own,
                  const std::vector<ProgressPlace>& progress_places) {
        const std::string& machine = cards[static_cast<std::size_t>(own)].machine;
        for (std::size_t r = 0; r < cards.size(); ++r) {
            const RankCard& card = cards[r];
            if (card.machine != machine) continue;
            masks.push_back(card.cores);
            has_cores_for_threads &= progress_places[r].is_set_aside();
        }
    }

    // Spinning takes no time from other ranks.
    bool has_core_for_each_rank() const { return are_enough(masks, 1); }
    // Some progress thread runs where a program computes.
    bool threads_share_cores() const { return !has_cores_for_threads && !are_enough(masks, 2); }

    std::vector<std::vector<int>> masks;
    bool has_cores_for_threads = true;  // set aside, for all ranks
};

Result<std::unique_ptr<Process>> make_process(Process::Parts parts) {
    auto process = std::make_unique<Process>(std::move(parts));
    const int error = process->engine().error();
    if (error == 0) return process;
    return failure(WEFT_REFUSED_MEMORY, "no descriptor for an eventfd: %s", std::strerror(error));
}

// The network that the user has declared: "torus:4x4".
Result<std::optional<Torus>> torus_from_environment(Rank ranks) {
    const std::string text(text_setting("WEFT_TOPOLOGY"));
    if (text.empty()) return std::optional<Torus>();
    const std::string kind = "torus:";
    std::optional<std::vector<Rank>> parsed;
    if (text.starts_with(kind)) parsed = parse_sizes(text.substr(kind.size()));
    if (!parsed || parsed->size() < 2 || parsed->size() > 3) return refuse_setting("WEFT_TOPOLOGY");
    Rank product = 1;
    for (const Rank size : *parsed) product *= size;
    if (product != ranks) {
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_TOPOLOGY = '%s' has %d ranks; expected %d, as many as the job",
                       text.c_str(), product, ranks);
    }
    return std::optional<Torus>(std::move(*parsed));
}

// What else the environment says about joining.
struct JoinOptions {
    Offload::Options offload;
    bool on_demand = true;
    ProgressCores progress;
};

Status read_settings(Process::Parts& parts, JoinOptions& wishes) {
    // (Also those that are read elsewhere, as by the drop-in library.)
    WEFT_RETURN_IF_NOT_OK(check_settings());
    Result<EngineKind> engine = engine_from_environment();
    if (!engine.is_ok()) return engine.status();
    parts.engine.kind = usable(*engine);
    WEFT_RETURN_IF_NOT_OK(read_number("queue_depth", wishes.offload.queue_depth));
    WEFT_RETURN_IF_NOT_OK(Selector::from_environment().move_to(parts.settings.selector));
    WEFT_RETURN_IF_NOT_OK(switch_setting("WEFT_REPRODUCIBLE").move_to(parts.settings.reproducible));
    WEFT_RETURN_IF_NOT_OK(switch_setting("WEFT_CHECK").move_to(parts.checks_calls));
    wishes.offload.offers_all = test_hooks().offers_all;
    WEFT_RETURN_IF_NOT_OK(ProgressCores::from_environment().move_to(wishes.progress));
    WEFT_RETURN_IF_NOT_OK(switch_setting("on_demand", true).move_to(wishes.on_demand));
    return read_number("WEFT_TIMEOUT", parts.engine.timeout_ns);
}

using MakeStartup = std::function<Result<std::unique_ptr<Startup>>()>;

Result<std::unique_ptr<Process>> join(const MakeStartup& make_startup, const weft_oob* oob) {
    Process::Parts parts;
    JoinOptions wishes;
    RankCard mine = RankCard::mine();
    mine.refuse(read_settings(parts, wishes));
    mine.note_selector(parts.settings.selector);
    mine.dedicated.is_wanted = test_hooks().dedicates;
    mine.engine = parts.engine.kind;
    mine.progress = wishes.progress;
    const auto refuse = [&] { return failure(mine.refusal, "%s", mine.refusal_detail.c_str()); };

    Result<std::unique_ptr<Startup>> startup = make_startup();
    if (!startup.is_ok()) return mine.refusal != WEFT_OK ? refuse() : startup.status();
    WEFT_RETURN_IF_NOT_OK(random_name().move_to(parts.job));
    parts.process = number_of(parts.job);
    parts.node_names = {mine.node};
    parts.startup = (*startup)->source();
    parts.rank = (*startup)->rank();
    parts.ranks = (*startup)->ranks();
    if (oob != nullptr) parts.job_dedicated = 0;
    if (parts.rank == 0) warn_of_settings();
    Result<std::optional<Torus>> torus = torus_from_environment(parts.ranks);
    mine.refuse(torus.status());
    if (torus.is_ok()) parts.torus = std::move(*torus);
    parts.routes.resize(static_cast<std::size_t>(parts.ranks));
    parts.settings.selector.set_engine(parts.engine.kind);
    if (parts.ranks == 1)
        return mine.refusal != WEFT_OK ? refuse() : make_process(std::move(parts));

    Result<std::string> address = (*startup)->own_address();
    if (!address.is_ok()) return mine.refusal != WEFT_OK ? refuse() : address.status();
    Result<Transports> transports = Transports::prepare(oob, *address);
    mine.refuse(transports.status());
    mine.job = parts.job;
    if (transports.is_ok()) transports->write_on(mine, parts.ranks);
    Result<std::vector<std::string>> texts = (*startup)->exchange(mine.text());
    if (!texts.is_ok()) return mine.refusal != WEFT_OK ? refuse() : texts.status();
    std::vector<RankCard> cards;
    for (const std::string& text : *texts) cards.push_back(RankCard::parse(text));
    WEFT_RETURN_IF_NOT_OK(check_agreement(cards));
    parts.settings.selector.set_engine(agreed_engine(cards));
    parts.job = cards.front().job;
    parts.nodes = nodes_of(cards);
    parts.cores = cores_of(cards);
    parts.node_names.assign(cards.size(), "");
    for (std::size_t r = 0; r < cards.size(); ++r)
        parts.node_names[static_cast<std::size_t>(parts.nodes[r])] = cards[r].node;
    const std::vector<ProgressPlace> places = progress_places(cards, parts.rank);
    const CoreOccupancy crowd(cards, parts.rank, places);
    parts.engine.may_spin = crowd.has_core_for_each_rank();
    const Status connected = transports->connect(cards, (*startup)->key(), parts);
    if (!connected.is_ok()) return (*startup)->cause_of(connected);
    parts.has_several_interfaces = has_several_interfaces(cards);
    wishes.offload.has_own_core = parts.engine.may_spin;
    wishes.offload.has_several_interfaces = parts.has_several_interfaces;
    parts.offload = make_offload(parts.routes, wishes.offload);
    std::vector<DedicatedShare> dedicated;
    for (const RankCard& card : cards) {
        dedicated.push_back(card.dedicated);
        if (wants_dedicated(card.engine, parts.has_several_interfaces))
            dedicated.back().is_wanted = 1;
    }
    parts.dedicated = dedicated[static_cast<std::size_t>(parts.rank)];
    parts.world_dedicated = agreed_streams(dedicated);
    for (DedicatedShare& share : dedicated) share.streams_left -= parts.world_dedicated;
    if (oob != nullptr) parts.job_dedicated = agreed_streams(dedicated);
    parts.engine.progress_place = places[static_cast<std::size_t>(parts.rank)];
    if (parts.rank == 0) {
        const std::string why = why_not_set_aside(cards, parts.rank, places);
        if (!why.empty()) std::fprintf(stderr, "weft: %s\n", why.c_str());
    }
    parts.engine.on_demand = wishes.on_demand && crowd.threads_share_cores();
    const bool is_engine_free = text_setting("WEFT_ENGINE").empty();
    Result<std::unique_ptr<Process>> process = make_process(std::move(parts));
    if (!process.is_ok()) return process;
    Engine& made = (*process)->engine();
    if (const Status status = (*process)->check_engine(made.kind()); !status.is_ok()) {
        if (!is_engine_free) return status;
        made.set_kind(EngineKind::manual);
    }
    return process;
}

}  // namespace

Result<std::unique_ptr<Process>> join_job() {
    return join([] { return startup_from_environment(); }, nullptr);
}

Result<std::unique_ptr<Process>> join_job(const weft_oob& oob, bool& others_are_members) {
    return join(
        [&] {
            return Result<std::unique_ptr<Startup>>(
                std::make_unique<OobStartup>(oob, &others_are_members));
        },
        &oob);
}

Result<std::unique_ptr<Process>> join_alone() {
    return join([] { return Result<std::unique_ptr<Startup>>(std::make_unique<Alone>()); },
                nullptr);
}

}  // namespace weft
