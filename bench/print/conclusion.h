// What the shares that were hidden say together, in three sentences.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

// A place: this machine, or emulated nodes.
struct Gain {
    std::string where;  // "between nodes"
    std::string best;   // the member that hides most, in the median of the rows
    double best_percent = 0;
    double auto_percent = -1;  // of the default, if it was measured
    int rows = 0;              // that were not disturbed
    int disturbed = 0;

    bool is_known() const { return rows > 0 && disturbed <= rows; }
    bool is_gain() const { return is_known() && best_percent >= 10; }
};

// For whom is something to gain here, how much, and what to try next. "No conclusion ...", if most
// rows were disturbed.
std::string three_sentences(const std::vector<Gain>& gains);

}  // namespace weft::bench
