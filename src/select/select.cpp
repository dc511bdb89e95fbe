#include "select/select.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "select/setting.h"

namespace weft {
namespace {

using algorithm::Agreed;
using algorithm::Algorithm;
using algorithm::Family;

// A line applies from this many ranks and bytes on. The last that applies, and whose algorithm's
// needs the call meets, is used; otherwise the collective's first algorithm.
struct Rule {
    Collective collective;
    Rank ranks;
    std::int64_t bytes;
    const char* algorithm;
    bool combines = false;  // only if operands are combined on arrival
};

// The thresholds are common practice, except for allreduce of two ranks, where the ring has half
// the reductions and one more round. If operands are combined on arrival it takes as long at 16 KiB
// and 0.6 to 0.9 of the time from 64 KiB up (in place, where they are not, 0.93 to 1.12); over a
// link of 1 Gbit/s 1.04 at 256 KiB.
constexpr Rule table[] = {
    {Collective::bcast, 3, 256 * 1024 + 1, "chain"},
    {Collective::gather, 1, 32 * 1024, "flat"},
    {Collective::scatter, 1, 32 * 1024, "flat"},
    {Collective::alltoall, 1, 0, "flat"},
    {Collective::alltoall, 8, 0, "bruck"},
    {Collective::alltoall, 8, 256 + 1, "flat"},
    {Collective::alltoall, 3, 32 * 1024, "shift"},
    {Collective::allgather, 3, 0, "bruck"},
    {Collective::allgather, 3, 8 * 1024 + 1, "ring"},
    {Collective::allreduce, 2, 16 * 1024, "ring", true},
    {Collective::allreduce, 2, 512 * 1024, "ring"},
    {Collective::allreduce, 3, 0, "recursive_doubling"},
    {Collective::allreduce, 3, 256 * 1024, "ring"},
};

}  // namespace

std::string setting_of(const Family& family) {
    std::string name = "WEFT_ALGORITHM_";
    for (const char* c = family.name; *c; ++c) name += static_cast<char>(std::toupper(*c));
    return name;
}

Result<Selector> Selector::from_environment() {
    Selector selector;
    for (const Family& family : algorithm::catalogue()) {
        const char* text = std::getenv(setting_of(family).c_str());
        if (text && *text) WEFT_RETURN_IF_NOT_OK(selector.force(family.collective, text));
    }
    return selector;
}

Status Selector::force(Collective collective, const std::string& text, const std::string& name) {
    const Family& family = algorithm::family_of(collective);
    Result<AlgorithmSetting> setting = parse_algorithm(name.c_str(), text);
    if (!setting.is_ok()) return setting.status();
    Choice choice{family.find(setting->name), {}};
    if (!choice.algorithm) {
        return failure(WEFT_REFUSED_SETTING, "%s: \"%s\" is not known; expected one of: %s",
                       name.c_str(), setting->name.c_str(), family.known_names().c_str());
    }
    const algorithm::Tunes tunes = choice.algorithm->tunes;
    const bool has_segments = setting->segment_bytes || setting->window;
    if ((has_segments && tunes != algorithm::Tunes::segments) ||
        (setting->ports && tunes != algorithm::Tunes::ports)) {
        return failure(WEFT_REFUSED_SETTING, "%s: \"%s\"; %s has no %s", name.c_str(), text.c_str(),
                       setting->name.c_str(), has_segments ? "segments" : "ports");
    }
    if (setting->segment_bytes) choice.tuning.segment_bytes = *setting->segment_bytes;
    if (setting->window) choice.tuning.window = *setting->window;
    if (setting->ports) choice.tuning.ports = *setting->ports;
    forced_[static_cast<std::size_t>(collective)] = Forced{choice, name, text};
    return ok;
}

Result<Choice> Selector::choose(const Agreed& agreed) const {
    const Collective collective = agreed.collective;
    const Family& family = algorithm::family_of(collective);
    if (const auto& forced = forced_[static_cast<std::size_t>(collective)]) {
        Agreed tuned = agreed;
        tuned.tuning = forced->choice.tuning;
        const std::string lacks = forced->choice.algorithm->unmet_need(tuned);
        if (lacks.empty()) return forced->choice;
        return failure(WEFT_REFUSED_SETTING, "%s=%s needs %s", forced->name.c_str(),
                       forced->text.c_str(), lacks.c_str());
    }
    const auto meets = [&](const Algorithm* a) { return a->unmet_need(agreed).empty(); };
    const auto first = std::ranges::find_if(family.algorithms, meets);
    WEFT_ASSERT(first != family.algorithms.end());
    Choice choice{*first, agreed.tuning};
    for (const Rule& line : table) {
        if (line.collective != collective) continue;
        if (agreed.ranks < line.ranks || agreed.bytes < line.bytes) continue;
        if (line.combines && !agreed.combines) continue;
        const Algorithm* algorithm = family.find(line.algorithm);
        WEFT_ASSERT(algorithm);
        if (meets(algorithm)) choice.algorithm = algorithm;
    }
    return choice;
}

std::string Selector::text() const {
    std::string text;
    for (const Family& family : algorithm::catalogue()) {
        const auto& forced = forced_[static_cast<std::size_t>(family.collective)];
        if (forced) text += std::string(family.name) + "=" + forced->text + "\n";
    }
    return text;
}

}  // namespace weft
