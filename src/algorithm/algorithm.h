// What an algorithm is: a function that builds one rank's schedule, and its claims as data.
//
// One file per algorithm in algorithm/<collective>/, and one line in that folder's collective.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithm/problem.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// What an algorithm needs of a call.
struct Needs {
    bool commutative = false;  // operands are combined in any order
    bool ranks_are_a_power_of_ports_plus_1 = false;
};

// What of the tuning an algorithm follows.
enum class Tunes : std::uint8_t { nothing, segments, ports };

// What every algorithm states of itself. Tests hold the claims against the built schedules.
struct Algorithm {
    const char* name;
    const char* source;  // author, year, title, DOI, algorithm number
    Needs needs = {};
    Tunes tunes = Tunes::nothing;
    bool follows_topology = false;  // schedules depend on who shares a node
    // The makespan when a message takes one unit, and Tuning::ports.
    std::int64_t (*rounds)(const Agreed&);
    // By the rank that sends most.
    std::int64_t (*sent_messages_max)(const Agreed&);
    std::int64_t (*sent_bytes_max)(const Agreed&);
    Status (*build)(const Problem&, ScheduleBuilder&);

    // What a call lacks, as "an operation that commutes; this call's does not"; empty: nothing.
    std::string unmet_need(const Agreed& agreed) const;
};

// This rank's schedule.
Result<Schedule> build_rank(const Algorithm& algorithm, const Problem& problem);

// The schedules of all ranks.
Result<std::vector<Schedule>> build_all(const Algorithm& algorithm,
                                        std::span<const Problem> problems);

}  // namespace weft::algorithm
