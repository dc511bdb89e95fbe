// What the rows of the summary show together, in a sentence.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft::bench {

// How much of the shorter one an engine hides: 0: as long as both, one after the other; 100: as long as the longer one.
struct Share {
    std::string engine;
    double hidden_percent;
};

struct JudgedRow {
    std::vector<Share> shares;  // of each engine with background progress
    bool is_disturbed;
};

// Of rows that were not disturbed. Draws no conclusion if most were.
std::string advice(std::span<const JudgedRow> rows, bool is_within_machine);

// Whether other programs took so much of the computation's time that the measurement should be repeated.
std::string quietness(double lost_percent);

}  // namespace weft::bench
