#include "select/select.h"

#include <cctype>
#include <cstdlib>

#include "select/setting.h"

namespace weft {
namespace {

using algorithm::Algorithm;
using algorithm::Family;
using algorithm::Size;

// From so many ranks and so many bytes on a line is used; the last one that applies.
struct Line {
    Collective collective;
    Rank ranks;
    std::int64_t bytes;
    const char* algorithm;
};

constexpr Line table[] = {
    {Collective::barrier, 1, 0, "dissemination"},
    {Collective::bcast, 1, 0, "binomial"},
    {Collective::bcast, 3, 256 * 1024 + 1, "chain"},
    {Collective::allgather, 1, 0, "ring"},
    {Collective::allgather, 3, 0, "bruck"},
    {Collective::allgather, 3, 8 * 1024 + 1, "ring"},
    {Collective::allreduce, 1, 0, "recursive_doubling"},
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

Status Selector::force(Collective collective, const std::string& text) {
    const Family& family = algorithm::family_of(collective);
    const std::string variable = setting_of(family);
    Result<AlgorithmSetting> setting = parse_algorithm(variable.c_str(), text);
    if (!setting.is_ok()) return setting.status();
    Choice choice{family.find(setting->name), {}};
    if (!choice.algorithm) {
        return failure(WEFT_REFUSED_SETTING, "%s: \"%s\" is not known; expected one of: %s",
                       variable.c_str(), setting->name.c_str(), family.known_names().c_str());
    }
    if (setting->segment_bytes) choice.tuning.segment_bytes = *setting->segment_bytes;
    if (setting->window) choice.tuning.window = *setting->window;
    forced_[static_cast<std::size_t>(collective)] = choice;
    return ok;
}

Choice Selector::choose(Collective collective, const Size& size) const {
    const auto& forced = forced_[static_cast<std::size_t>(collective)];
    if (forced) return *forced;
    const char* name = "";
    for (const Line& line : table) {
        if (line.collective != collective) continue;
        if (size.ranks >= line.ranks && size.bytes >= line.bytes) name = line.algorithm;
    }
    const Algorithm* algorithm = algorithm::family_of(collective).find(name);
    WEFT_ASSERT(algorithm);
    return {algorithm, size.tuning};
}

}  // namespace weft
