#include "bench/print/conclusion.h"

#include <algorithm>

#include "bench/table.h"

namespace weft::bench {
namespace {

std::string joined(const std::vector<std::string>& parts, const char* last) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0 ? "" : i + 1 == parts.size() ? last : ", ") + parts[i];
    return text;
}

std::string amount(const Gain& gain) {
    constexpr double noise_points = 5;
    std::string text = gain.where + " " + gain.best + " hides " + fixed(gain.best_percent, 0) +
                       " % of the shorter one of computation and collective";
    if (gain.best == "auto") return text + ", and is the default";
    if (gain.auto_percent < 0) return text;
    const bool is_as_good = gain.auto_percent >= gain.best_percent - noise_points;
    return text + ", and auto, the default, " +
           (is_as_good ? "as much" : fixed(gain.auto_percent, 0) + " %");
}

}  // namespace

std::string three_sentences(const std::vector<Gain>& gains) {
    int rows = 0;
    int disturbed = 0;
    std::vector<std::string> with, without, amounts;
    const Gain* tunable = nullptr;  // where another engine than the default does better
    for (const Gain& gain : gains) {
        rows += gain.rows + gain.disturbed;
        disturbed += gain.disturbed;
        if (gain.is_known()) amounts.push_back(amount(gain));
        if (gain.is_gain())
            with.push_back(gain.where);
        else if (gain.is_known())
            without.push_back(gain.where);
        if (gain.is_gain() && gain.auto_percent >= 0 && gain.auto_percent < gain.best_percent - 5)
            tunable = &gain;
    }
    if (rows == 0) return "No conclusion: nothing was measured.";
    if (2 * disturbed > rows) {
        return "No conclusion: " + std::to_string(disturbed) + " of " + std::to_string(rows) +
               " rows were disturbed. Nothing is known about how much can be gained here. Measure "
               "again when nothing else runs on this machine.";
    }
    std::string who;
    if (!with.empty())
        who = "Programs that compute while collectives run gain time " + joined(with, " and ") +
              (without.empty() ? "" : ", but not " + joined(without, " or ")) + ".";
    else
        who = "Programs that compute while collectives run gain nothing " +
              joined(without, " or ") + ": the cores that compute also move the data.";
    const std::string much = "In the median of the rows, " + joined(amounts, "; ") + ".";
    std::string next = "Next: try your own sizes, as in weft bench overlap --set bytes=16K,256K";
    if (tunable != nullptr)
        next = "Next: run your program with WEFT_ENGINE=" + tunable->best +
               ", which does better than the default " + tunable->where;
    else if (!with.empty())
        next =
            "Next: start your collectives earlier, with weft_i..., and wait for them where "
            "their result is needed; the engine can stay as it is";
    return who + "\n" + much + "\n" + next + ".";
}

}  // namespace weft::bench
