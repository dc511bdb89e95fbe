// The output of WEFT_STATS=all, as tests read it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/pattern.h"

namespace weft::test {

struct Taken {
    long taken = 0;
    double wait_ms = 0;
    int hidden_percent = -1;           // negative: nothing has completed
    std::map<std::string, long> left;  // by the reason
};

// Parses what rank 0 prints with WEFT_STATS=all: for each rank, by function.
inline std::vector<std::map<std::string, Taken>> statistics_in(const std::string& text) {
    std::vector<std::map<std::string, Taken>> ranks;
    for (const Match& line :
         matches_in(text,
                    "weft: (?:MPI calls of rank (\\d+) of \\d+;|(MPI_\\w+) +(\\d+) "
                    "+\\d+ )([^\n]*)")) {
        if (!line[1].empty()) {
            EXPECT_EQ(line[1], std::to_string(ranks.size()));
            ranks.emplace_back();
            continue;
        }
        if (ranks.empty()) continue;
        Taken& row = ranks.back()[line[2]];
        row.taken = std::stol(line[3]);
        for (const Match& times :
             matches_in(line[4], "^ *\\d+ +[\\d.]+ +([\\d.]+) +(?:(-?\\d+) %|-)")) {
            row.wait_ms = std::stod(times[1]);
            if (!times[2].empty()) row.hidden_percent = std::stoi(times[2]);
        }
        for (const Match& why : matches_in(line[4], "left (\\d+): (\\w+( \\w+)*)"))
            row.left[why[2]] = std::stol(why[1]);
    }
    return ranks;
}

}  // namespace weft::test
