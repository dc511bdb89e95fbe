#include "process/join/progress_cores.h"

#include <algorithm>

#include "base/cores.h"
#include "base/setting.h"

namespace weft {
namespace {

constexpr const char* words[] = {"anywhere", "these", "spare"};  // by Kind

}  // namespace

Result<ProgressCores> ProgressCores::from_environment() {
    ProgressCores wish;
    const std::string text(text_setting("WEFT_PROGRESS_CPUS"));
    if (text.empty()) return wish;
    const std::vector<int> reachable = reachable_cores();
    if (text == "spare") {
        wish.kind = Kind::spare;
        wish.cores = reachable;
        return wish;
    }
    const std::optional<std::vector<int>> named = parse_cores(text);
    if (!named) return refuse_setting("WEFT_PROGRESS_CPUS");
    wish.kind = Kind::these;
    wish.cores = *named;
    for (const int core : wish.cores) {
        if (std::ranges::binary_search(reachable, core)) continue;
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_PROGRESS_CPUS = '%s'; this process cannot use core %d, only %s",
                       text.c_str(), core, cores_text(reachable).c_str());
    }
    return wish;
}

std::string ProgressCores::text() const {
    std::string text = words[static_cast<std::size_t>(kind)];
    for (const int core : cores) text += " " + std::to_string(core);
    return text;
}

ProgressCores ProgressCores::parse(const std::string& text) {
    ProgressCores wish;
    std::string_view rest = text;
    const std::string_view word = take_until(rest, " ");
    const auto* const known = std::ranges::find(words, word);
    if (known == std::end(words)) return wish;
    wish.kind = static_cast<Kind>(known - words);
    wish.cores = parse_ints(rest);
    return wish;
}

}  // namespace weft
