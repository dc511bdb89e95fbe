#include "select/select.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "select/setting.h"

namespace weft {
namespace {

using algorithm::Size;

template <class Algorithm>
using List = std::span<const Algorithm* const>;

template <class Algorithm>
const Algorithm* find(List<Algorithm> list, std::string_view name) {
    for (const Algorithm* algorithm : list) {
        if (algorithm->name == name) return algorithm;
    }
    return nullptr;
}

template <class Algorithm>
Status read(const char* variable, const char* text, List<Algorithm> list,
            std::optional<Choice<Algorithm>>& forced) {
    Result<AlgorithmSetting> setting = parse_algorithm(variable, text);
    if (!setting.is_ok()) return setting.status();
    const Algorithm* algorithm = find(list, setting->name);
    if (!algorithm) {
        std::string known;
        for (const Algorithm* a : list) known += std::string(known.empty() ? "" : ", ") + a->name;
        return failure(WEFT_REFUSED_SETTING, "%s: \"%s\" is not known; expected one of: %s",
                       variable, setting->name.c_str(), known.c_str());
    }
    Choice<Algorithm> choice{algorithm, {}};
    if (setting->segment_bytes) choice.tuning.segment_bytes = *setting->segment_bytes;
    if (setting->window) choice.tuning.window = *setting->window;
    forced = choice;
    return ok;
}

// From here on a line of the table is used: at least so many ranks and so many bytes.
struct Line {
    Rank ranks;
    std::int64_t bytes;
    const char* name;
};

// The last line that applies; the first one always does.
constexpr Line barrier_table[] = {{1, 0, "dissemination"}};
constexpr Line bcast_table[] = {{1, 0, "binomial"}, {3, 256 * 1024 + 1, "chain"}};
constexpr Line allgather_table[] = {{1, 0, "ring"}, {3, 0, "bruck"}, {3, 8 * 1024 + 1, "ring"}};
constexpr Line allreduce_table[] = {{1, 0, "recursive_doubling"}};

template <class Algorithm>
Choice<Algorithm> choose(const std::optional<Choice<Algorithm>>& forced, List<Algorithm> list,
                         std::span<const Line> table, Size size) {
    if (forced) return *forced;
    const char* name = nullptr;
    for (const Line& line : table) {
        if (size.ranks >= line.ranks && size.bytes >= line.bytes) name = line.name;
    }
    const Algorithm* algorithm = find(list, name);
    WEFT_ASSERT(algorithm);
    return {algorithm, size.tuning};
}

}  // namespace

Result<Selector> Selector::from_environment() {
    Selector selector;
    for (const char* variable : {"WEFT_ALGORITHM_BARRIER", "WEFT_ALGORITHM_BCAST",
                                 "WEFT_ALGORITHM_ALLGATHER", "WEFT_ALGORITHM_ALLREDUCE"}) {
        const char* text = std::getenv(variable);
        if (text && *text) WEFT_RETURN_IF_NOT_OK(selector.force(variable, text));
    }
    return selector;
}

Status Selector::force(const char* variable, const char* text) {
    std::string_view name = variable;
    if (name.ends_with("BARRIER")) return read(variable, text, algorithm::barriers(), barrier_);
    if (name.ends_with("BCAST")) return read(variable, text, algorithm::bcasts(), bcast_);
    if (name.ends_with("ALLGATHER"))
        return read(variable, text, algorithm::allgathers(), allgather_);
    if (name.ends_with("ALLREDUCE"))
        return read(variable, text, algorithm::allreduces(), allreduce_);
    return failure(WEFT_REFUSED_SETTING, "%s is no setting of an algorithm", variable);
}

Choice<algorithm::Barrier> Selector::barrier(Size size) const {
    return choose(barrier_, algorithm::barriers(), barrier_table, size);
}

Choice<algorithm::Bcast> Selector::bcast(Size size) const {
    return choose(bcast_, algorithm::bcasts(), bcast_table, size);
}

Choice<algorithm::Allgather> Selector::allgather(Size size) const {
    return choose(allgather_, algorithm::allgathers(), allgather_table, size);
}

Choice<algorithm::Allreduce> Selector::allreduce(Size size) const {
    return choose(allreduce_, algorithm::allreduces(), allreduce_table, size);
}

}  // namespace weft
