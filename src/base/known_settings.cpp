#include "base/known_settings.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace weft {
namespace {

// Each is in docs/man/weft.1, weft-info.1, weft-preload.1 or weft-run.1.
constexpr std::array<std::string_view, 32> known = {
    "WEFT_CHECK",         "WEFT_CONNECT",       "WEFT_CONNECTIONS",
    "WEFT_ENGINE",        "WEFT_INTERFACES",    "WEFT_DEDICATE",
    "WEFT_OFFER_ALL",     "WEFT_PEER_TIMEOUT",  "WEFT_QUEUE_DEPTH",
    "WEFT_RANK",          "WEFT_RANKS",         "WEFT_RENDEZVOUS",
    "WEFT_SHM_LARGE",     "WEFT_SHM_RING",      "WEFT_STARTUP_DIR",
    "WEFT_STARTUP_FD",    "WEFT_STATS",         "WEFT_STARTUP_TIMEOUT",
    "WEFT_TIMEOUT",       "WEFT_TRANSPORT",     "WEFT_ON_DEMAND",
    "WEFT_TUNING",        "WEFT_REPRODUCIBLE",  "WEFT_TOPOLOGY",
    "WEFT_BLOCKING",      "WEFT_DISABLE",       "WEFT_MIN_BYTES",
    "WEFT_PRELOAD_CHECK", "WEFT_PROGRESS_CPUS", "WEFT_SELECT",
    "WEFT_MODEL",         "WEFT_PRELOAD_PID",
};

constexpr std::string_view beginning = "WEFT_";
constexpr std::array<std::string_view, 5> of_tools = {"WEFT_BENCH_", "WEFT_CLUSTER_", "WEFT_TEST_",
                                                      "WEFT_SEEDS", "WEFT_CASE"};

// How many letters must be changed, added or left out to turn one into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
        }
    }
    return row.back();
}

}  // namespace

std::span<const std::string_view> known_settings() { return known; }

std::vector<std::string> warnings_of_unknown_settings(std::span<const char* const> environment,
                                                      std::span<const std::string> further) {
    std::vector<std::string_view> all(known.begin(), known.end());
    all.insert(all.end(), further.begin(), further.end());
    std::vector<std::string> warnings;
    for (const std::string_view entry : environment) {
        const std::string_view name = entry.substr(0, entry.find('='));
        if (!name.starts_with(beginning) || std::ranges::find(all, name) != all.end()) continue;
        if (std::ranges::any_of(of_tools, [&](auto tool) { return name.starts_with(tool); })) {
            continue;
        }
        const auto nearest = *std::ranges::min_element(
            all, {}, [&](std::string_view other) { return distance(name, other); });
        warnings.push_back(std::string(name) +
                           " is not a setting of Weft and has no effect; did you mean " +
                           std::string(nearest) + "?");
    }
    return warnings;
}

}  // namespace weft
