// Communicators of processes that have joined different jobs. They share the engine and its thread
// with everything else here; their messages go over a bridge (transport/bridges.h). A bridge that
// an earlier group has made is used again by groups all of whose processes it reaches.
#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "process/construct.h"
#include "process/join/card.h"
#include "process/join/join.h"
#include "process/join/transports.h"
#include "startup/oob.h"

namespace weft {
namespace {

// While it lives, messages of unknown contexts are kept: faster processes may already use the
// communicator.
class GroupExpected {
  public:
    explicit GroupExpected(Process& process) : process_(process) {
        process_.engine().call([&] { process_.executor().expect_group(); });
    }
    ~GroupExpected() {
        process_.engine().call([&] { process_.executor().group_decided(); });
    }
    GroupExpected(const GroupExpected&) = delete;
    GroupExpected& operator=(const GroupExpected&) = delete;

  private:
    Process& process_;
};

template <class Record>
Result<std::vector<Record>> gather(const weft_oob& oob, const Record& mine) {
    std::vector<Record> all(static_cast<std::size_t>(oob.ranks));
    const Status gathered = OobStartup::allgather(oob, std::as_bytes(std::span(&mine, 1)),
                                                  std::as_writable_bytes(std::span(all)));
    if (!gathered.is_ok()) return gathered;
    return all;
}

// A bridge that all have to all of these processes; 0: there is none.
Result<std::uint64_t> common_bridge(Process& process, const weft_oob& oob,
                                    std::span<const std::uint64_t> processes) {
    using Choice = std::array<std::uint64_t, 8>;
    const std::vector<std::uint64_t> reaching =
        process.engine().call([&] { return process.outside().reaching(processes); });
    Choice mine{};
    std::ranges::copy_n(reaching.begin(),
                        static_cast<std::ptrdiff_t>(std::min(reaching.size(), mine.size())),
                        mine.begin());
    Result<std::vector<Choice>> all = gather(oob, mine);
    if (!all.is_ok()) return all.status();
    for (const std::uint64_t bridge : all->front()) {
        const bool is_common = std::ranges::all_of(*all, [&](const Choice& choice) {
            return std::ranges::find(choice, bridge) != choice.end();
        });
        if (bridge != 0 && is_common) return bridge;
    }
    return std::uint64_t{0};
}

// Makes a bridge between all processes of the group. Collective; blocks.
Result<std::uint64_t> make_bridge(Process& process, const weft_oob& oob,
                                  std::span<const std::uint64_t> processes) {
    RankCard mine = RankCard::mine();
    mine.note_selector(process.world().settings().selector);
    mine.engine = process.engine().kind();
    mine.job = process.job();
    Result<std::string> name = random_name();
    mine.refuse(name.status());
    if (name.is_ok()) mine.job = std::move(*name);
    Result<Transports> transports = Transports::prepare_bridge();
    mine.refuse(transports.status());
    if (transports.is_ok()) transports->write_on(mine, oob.ranks);
    OobStartup startup(oob);
    Result<std::vector<std::string>> texts = startup.exchange(mine.text());
    if (!texts.is_ok()) return texts.status();
    std::vector<RankCard> cards;
    std::vector<std::string> nodes;
    for (const std::string& text : *texts) {
        cards.push_back(RankCard::parse(text));
        nodes.push_back(cards.back().node);
    }
    WEFT_RETURN_IF_NOT_OK(check_agreement(cards));

    Process::Parts parts;
    parts.rank = oob.rank;
    parts.ranks = oob.ranks;
    parts.routes.resize(cards.size());
    parts.engine.may_spin = process.engine().may_spin();
    WEFT_RETURN_IF_NOT_OK(transports->connect(cards, startup.key(), parts));
    auto made = std::make_unique<Bridges::Bridge>();
    made->transports = std::move(parts.transports);
    made->routes = std::move(parts.routes);
    Outside::Bridge bridge{.id = number_of(cards.front().job),
                           .processes = {processes.begin(), processes.end()},
                           .engine = agreed_engine(cards)};
    const std::uint64_t id = bridge.id;
    const Status added = process.engine().call(
        [&] { return process.outside().add(std::move(bridge), std::move(made), oob.rank, nodes); });
    if (!added.is_ok()) return added;
    return id;
}

// A process that cannot have the communicator says so: the others would wait for it.
struct Readiness {
    weft_status code = WEFT_OK;
    char sentence[200] = {};
};

Status agree(const weft_oob& oob, const Status& status) {
    Readiness mine{.code = status.code};
    if (!status.is_ok()) std::snprintf(mine.sentence, sizeof mine.sentence, "%s", last_detail());
    Result<std::vector<Readiness>> all = gather(oob, mine);
    if (!all.is_ok()) return all.status();
    // What this process has found says more.
    if (!status.is_ok()) return failure_of_rank(status.code, status.rank, "%s", mine.sentence);
    for (std::size_t r = 0; r < all->size(); ++r) {
        const Readiness& other = (*all)[r];
        if (other.code != WEFT_OK)
            return failure_of_rank(other.code, static_cast<Rank>(r), "rank %zu of the group: %s", r,
                                   other.sentence);
    }
    return ok;
}

Result<Communicator*> make_over(Process& process, const weft_oob& oob, const GroupAcrossJobs& group,
                                std::uint64_t bridge,
                                std::unique_ptr<FailureNotices::Telling> telling) {
    const Outside::Bridge& over = process.outside().find(bridge);
    Group made;
    made.context = group.context;
    made.bridge = bridge;
    for (const std::uint64_t member : group.processes) {
        const auto place = std::ranges::find(over.processes, member) - over.processes.begin();
        made.members.push_back(over.numbers[static_cast<std::size_t>(place)]);
    }
    CommunicatorSettings settings = process.world().settings();
    settings.links = 0;
    settings.selector.set_engine(over.engine);
    const std::string name = "out-of-band group " + std::to_string(process.outside().count_group());
    const auto make_it = [&]() -> Communicator& {
        return process.add(made, oob.rank, name, settings);
    };
    return make_or_tell(process, nullptr, "comm_from_oob", made, std::move(telling), make_it);
}

}  // namespace

Result<Communicator*> adopt_across_jobs(Process& process, const weft_oob& oob,
                                        const GroupAcrossJobs& group) {
    const GroupExpected expected(process);
    auto telling = FailureNotices::reserve_telling(group.processes.size());
    Result<std::uint64_t> bridge = common_bridge(process, oob, group.processes);
    if (!bridge.is_ok()) return bridge.status();
    if (*bridge == 0) bridge = make_bridge(process, oob, group.processes);
    Status status = bridge.status();
    if (status.is_ok() && (group.context == 0 || process.engine().call([&] {
            return process.find_context(group.context) != nullptr;
        })))
        status = failure(WEFT_REFUSED_MEMORY, "the group's random number is used already");
    status = agree(oob, status);
    std::vector<std::unique_ptr<Bridges::Bridge>> unused;
    Result<Communicator*> made = process.engine().call([&]() -> Result<Communicator*> {
        Result<Communicator*> result =
            status.is_ok() ? make_over(process, oob, group, *bridge, std::move(telling)) : status;
        const KeptDetail kept;
        unused = process.outside().take_unused();
        return result;
    });
    return made;
}

}  // namespace weft
