#include "communicator/join.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "communicator/card.h"
#include "startup/startup.h"
#include "transport/shm/connect.h"

namespace weft {
namespace {

Result<EngineKind> engine_from_environment() {
    const char* text = std::getenv("WEFT_ENGINE");
    std::string_view name = text ? text : "thread";
    if (name == "thread" || name.empty()) return EngineKind::thread;
    if (name == "manual") return EngineKind::manual;
    if (name == "thread:poll") return EngineKind::thread_poll;
    return failure(WEFT_REFUSED_SETTING, "WEFT_ENGINE='%s'; expected manual, thread or thread:poll",
                   text);
}

Status check_transport_setting() {
    const char* text = std::getenv("WEFT_TRANSPORT");
    if (!text || !*text || std::string_view(text) == "shm") return ok;
    return failure(WEFT_REFUSED_SETTING, "WEFT_TRANSPORT='%s'; expected shm", text);
}

Result<std::unique_ptr<Process>> make_process(Process::Parts parts) {
    auto process = std::make_unique<Process>(std::move(parts));
    if (process->engine().is_ok()) return process;
    return failure(WEFT_REFUSED_MEMORY, "no descriptor for an eventfd: %s", std::strerror(EMFILE));
}

}  // namespace

Result<std::unique_ptr<Process>> join_job() {
    Process::Parts parts;
    Result<EngineKind> engine = engine_from_environment();
    if (!engine.is_ok()) return engine.status();
    parts.engine.kind = *engine;
    Result<Selector> selector = Selector::from_environment();
    if (!selector.is_ok()) return selector.status();
    parts.selector = *selector;
    WEFT_RETURN_IF_NOT_OK(check_transport_setting());

    Result<std::unique_ptr<Startup>> startup = startup_from_environment();
    if (!startup.is_ok()) return startup.status();
    parts.rank = (*startup)->rank();
    parts.ranks = (*startup)->ranks();
    parts.routes.resize(static_cast<std::size_t>(parts.ranks));
    if (parts.ranks == 1) return make_process(std::move(parts));

    Result<std::unique_ptr<ShmNode>> node = ShmNode::prepare();
    if (!node.is_ok()) return node.status();
    Card mine = Card::mine();
    mine.shm = (*node)->card();
    Result<std::vector<std::string>> texts = (*startup)->exchange(mine.text());
    if (!texts.is_ok()) return texts.status();

    std::vector<Card> cards;
    std::vector<std::string> shm_cards;
    for (const std::string& text : *texts) {
        cards.push_back(Card::parse(text));
        shm_cards.push_back(cards.back().shm);
    }
    WEFT_RETURN_IF_NOT_OK(check_agreement(cards));

    Result<std::unique_ptr<ShmTransport>> shm = (*node)->connect(parts.rank, shm_cards);
    if (!shm.is_ok()) return shm.status();
    std::set<int> cores;  // of the ranks on this node
    std::size_t here = 0;
    for (Rank rank = 0; rank < parts.ranks; ++rank) {
        const Card& card = cards[static_cast<std::size_t>(rank)];
        if (rank != parts.rank && !(*shm)->reachable(rank)) {
            return failure_of_rank(
                WEFT_REFUSED_UNSUPPORTED, rank,
                "rank %d is on another node; this build has only the shm transport", rank);
        }
        if (rank != parts.rank) parts.routes[static_cast<std::size_t>(rank)] = shm->get();
        cores.insert(card.cores.begin(), card.cores.end());
        ++here;
    }
    parts.engine.may_spin = here <= cores.size();
    parts.transports.push_back(std::move(*shm));
    return make_process(std::move(parts));
}

}  // namespace weft
