#include "communicator/join.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "base/setting.h"
#include "communicator/card.h"
#include "communicator/transports.h"
#include "startup/startup.h"

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

// Spinning takes time from others where there are more ranks than cores. Emulated nodes share those
// of one machine.
bool has_core_of_its_own(const std::vector<Card>& cards, Rank own) {
    const std::string& machine = cards[static_cast<std::size_t>(own)].machine;
    std::set<int> cores;
    std::size_t ranks = 0;
    for (const Card& card : cards) {
        if (card.machine != machine) continue;
        cores.insert(card.cores.begin(), card.cores.end());
        ++ranks;
    }
    return ranks <= cores.size();
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

    Result<bool> checks_calls = switch_setting("WEFT_CHECK");
    if (!checks_calls.is_ok()) return checks_calls.status();
    parts.checks_calls = *checks_calls;
    Setting timeout = seconds_setting("WEFT_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();
    parts.engine.timeout_ns = timeout->value_or(Engine::no_deadline);

    Result<std::unique_ptr<Startup>> startup = startup_from_environment();
    if (!startup.is_ok()) return startup.status();
    parts.rank = (*startup)->rank();
    parts.ranks = (*startup)->ranks();
    parts.routes.resize(static_cast<std::size_t>(parts.ranks));
    if (parts.ranks == 1) return make_process(std::move(parts));

    Result<Transports> transports = Transports::prepare();
    if (!transports.is_ok()) return transports.status();
    Card mine = Card::mine();
    transports->write_on(mine);
    Result<std::vector<std::string>> texts = (*startup)->exchange(mine.text());
    if (!texts.is_ok()) return texts.status();
    std::vector<Card> cards;
    for (const std::string& text : *texts) cards.push_back(Card::parse(text));
    WEFT_RETURN_IF_NOT_OK(check_agreement(cards));
    WEFT_RETURN_IF_NOT_OK(transports->connect(cards, (*startup)->key(), parts));
    parts.engine.may_spin = has_core_of_its_own(cards, parts.rank);
    return make_process(std::move(parts));
}

}  // namespace weft
