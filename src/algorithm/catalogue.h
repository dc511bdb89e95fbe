// All algorithms of all collectives under one type, for whoever goes through the whole list: tools
// and tests. Calls of the library name their collective and use algorithm.h.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

// One rank's part in a call of any collective; each takes what it knows.
struct Problem {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    std::int64_t bytes = 0;  // as Size::bytes
    std::int64_t element_bytes = 1;
    bool in_place = false;
    Tuning tuning;

    Size size() const { return {ranks, bytes, tuning, element_bytes}; }
};

struct Entry {
    const char* name;
    const char* source;
    std::int64_t (*rounds)(Size);
    std::int64_t (*sent_bytes_max)(Size);
    std::function<Result<Schedule>(const Problem&)> build;
};

struct Family {
    const char* name;
    bool has_root;
    bool has_in_place;
    bool reduces;
    // Bytes of the user's buffers. In place, the operands are in the receive buffer.
    std::int64_t (*send_bytes)(const Problem&);
    std::int64_t (*recv_bytes)(const Problem&);
    std::vector<Entry> algorithms;

    const Entry* find(std::string_view algorithm) const;
};

std::span<const Family> catalogue();
const Family* find_family(std::string_view collective);

// The schedules of all ranks of a call; problem.rank is not looked at.
Result<std::vector<Schedule>> build_all(const Entry& entry, Problem problem);

}  // namespace weft::algorithm
