#include "bench/overlap/advice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/statistics.h"
#include "bench/table.h"

namespace weft::bench {

std::string advice(std::span<const JudgedRow> rows, bool is_within_machine) {
    constexpr double little_percent = 10;
    constexpr double noise_points = 5;
    std::map<std::string, std::vector<double>> hidden;
    std::size_t disturbed = 0;
    for (const JudgedRow& row : rows) {
        if (row.is_disturbed) {
            ++disturbed;
            continue;
        }
        for (const Share& share : row.shares) hidden[share.engine].push_back(share.hidden_percent);
    }
    if (2 * disturbed > rows.size()) {
        return "none, because " + std::to_string(disturbed) + " of " + std::to_string(rows.size()) +
               " rows were disturbed.";
    }
    if (hidden.empty()) return "no engine with background progress was measured.";
    std::vector<Share> medians;
    for (const auto& [engine, percents] : hidden) medians.push_back({engine, median(percents)});
    const Share& best = *std::ranges::max_element(medians, {}, &Share::hidden_percent);
    const std::string figure = best.engine + " hides " + fixed(best.hidden_percent, 0) +
                               " % in the median of the rows" +
                               (disturbed > 0 ? " that were not disturbed" : "");
    if (best.hidden_percent < little_percent) {
        return "little or nothing can be gained here: at best " + figure + "." +
               (is_within_machine
                    ? " Within one machine the cores that compute also copy the messages."
                    : "");
    }
    const auto by_default = std::ranges::find(medians, "auto", &Share::engine);
    if (by_default == medians.end() || best.engine == "auto") return figure + ".";
    if (by_default->hidden_percent >= best.hidden_percent - noise_points)
        return figure + "; auto, the default, does as well.";
    return figure + "; auto, the default, hides " + fixed(by_default->hidden_percent, 0) + " %.";
}

std::string quietness(double lost_percent) {
    constexpr double quiet_percent = 5;
    const double lost = std::round(lost_percent);
    const std::string share = "other programs took " + fixed(lost, 0) +
                              " % of the computation's time (quiet: at most " +
                              fixed(quiet_percent, 0) + " %)";
    if (lost <= quiet_percent) return "The machine was quiet: " + share + ".";
    return "The machine was not quiet: " + share + ". Measure again when nothing else runs.";
}

}  // namespace weft::bench
