#include "process/join/card.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/cores.h"
#include "base/first_line.h"
#include "base/node.h"
#include "base/setting.h"
#include "shape/topology.h"

namespace weft {
namespace {

std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace

RankCard RankCard::mine() {
    RankCard card;
    card.version = WEFT_VERSION;
    card.machine = first_line_of("/proc/sys/kernel/random/boot_id");
    card.node = this_node();
    card.cores = own_cores();
    for (const SettingInfo& setting : setting_table) {
        if (!setting.is_agreed) continue;
        card.settings.emplace_back(setting_title(setting),
                                   one_line(std::string(text_setting(setting))));
    }
    return card;
}

// One item per line: a key, a space, a value.
std::string RankCard::text() const {
    std::string text = "version " + version + "\njob " + job + "\nmachine " + machine + "\nnode " +
                       node + "\nshm " + shm + "\ntcp " + tcp + "\nucx " + ucx + "\ndedicated " +
                       std::to_string(dedicated.streams_left) + " " +
                       std::to_string(dedicated.is_wanted) + "\nengine " + traits(engine).name +
                       "\ncores";
    for (int core : cores) text += " " + std::to_string(core);
    text += "\nprogress " + progress.text() + "\n";
    if (refusal != WEFT_OK)
        text += "refusal " + std::to_string(refusal) + " " + one_line(refusal_detail) + "\n";
    for (const auto& [name, value] : settings) text += "setting " + name + "=" + value + "\n";
    return text;
}

RankCard RankCard::parse(const std::string& text) {
    RankCard card;
    for (std::string_view lines = text; !lines.empty();) {
        std::string_view value = take_until(lines, "\n");
        const std::string_view key = take_until(value, " ");
        if (key == "version") card.version = value;
        if (key == "job") card.job = value;
        if (key == "machine") card.machine = value;
        if (key == "node") card.node = value;
        if (key == "shm") card.shm = value;
        if (key == "tcp") card.tcp = value;
        if (key == "ucx") card.ucx = value;
        if (key == "dedicated") {
            const std::vector<int> numbers = parse_ints(value);
            if (numbers.size() == 2 && numbers[0] >= 0) {
                card.dedicated = {static_cast<std::uint32_t>(numbers[0]),
                                  numbers[1] == 1 ? 1u : 0u};
            }
        }
        if (key == "engine") card.engine = engine_named(value).value_or(EngineKind::manual);
        if (key == "cores") card.cores = parse_ints(value);
        if (key == "progress") card.progress = ProgressCores::parse(std::string(value));
        if (key == "refusal") {
            const auto code = parse_whole_number(take_until(value, " "));
            card.refusal = static_cast<weft_status>(code.value_or(0));
            card.refusal_detail = value;
        }
        if (key == "setting") {
            const std::string_view name = take_until(value, "=");
            card.settings.emplace_back(name, value);
        }
    }
    return card;
}

void RankCard::refuse(const Status& status) {
    if (status.is_ok() || refusal != WEFT_OK) return;
    refusal = status.code;
    refusal_detail = last_detail();
}

void RankCard::note_selector(const Selector& selector) {
    settings.emplace_back("WEFT_ALGORITHM", selector.text());
    settings.emplace_back("WEFT_TUNING", selector.tuning());
    settings.emplace_back("WEFT_MODEL", selector.model());
}

std::vector<Rank> nodes_of(const std::vector<RankCard>& cards) {
    std::map<std::string, Rank> numbers;
    std::vector<Rank> marks;
    for (const RankCard& card : cards) {
        marks.push_back(
            numbers.emplace(card.node, static_cast<Rank>(numbers.size())).first->second);
    }
    return marks;
}

std::vector<Rank> cores_of(const std::vector<RankCard>& cards) {
    std::map<std::pair<std::string, int>, Rank> numbers;
    std::vector<Rank> cores;
    for (const RankCard& card : cards) {
        if (card.cores.size() != 1) {
            cores.push_back(Topology::any_core);
            continue;
        }
        const auto next = static_cast<Rank>(numbers.size());
        cores.push_back(
            numbers.try_emplace({card.machine, card.cores.front()}, next).first->second);
    }
    return cores;
}

std::optional<EngineKind> agreed_engine(const std::vector<RankCard>& cards) {
    const EngineKind first = cards.front().engine;
    const auto has_first = [&](const RankCard& card) { return card.engine == first; };
    if (!std::ranges::all_of(cards, has_first)) return std::nullopt;
    return first;
}

Status check_agreement(const std::vector<RankCard>& cards) {
    const RankCard& first = cards.front();
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        const RankCard& card = cards[rank];
        auto r = static_cast<Rank>(rank);
        if (card.version != first.version) {
            return failure_of_rank(
                WEFT_REFUSED_SETTING, r,
                "rank %d has Weft version '%s', rank 0 has '%s'; expected the same", r,
                card.version.c_str(), first.version.c_str());
        }
        if (card.refusal != WEFT_OK)
            return failure_of_rank(card.refusal, r, "rank %d: %s", r, card.refusal_detail.c_str());
        for (std::size_t i = 0; i < first.settings.size(); ++i) {
            const auto& [name, value] = first.settings[i];
            if (i < card.settings.size() && card.settings[i] == first.settings[i]) continue;
            const char* other = i < card.settings.size() ? card.settings[i].second.c_str() : "";
            return failure_of_rank(WEFT_REFUSED_SETTING, r,
                                   "rank %d has %s='%s', rank 0 has '%s'; expected the same", r,
                                   name.c_str(), other, value.c_str());
        }
    }
    return ok;
}

}  // namespace weft
