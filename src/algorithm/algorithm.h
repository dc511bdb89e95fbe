// An algorithm: a function that builds one rank's schedule, and claims about it as data.
//
// Each has a line in algorithms.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithm/problem.h"
#include "algorithm/sources.h"
#include "schedule/builder.h"

namespace weft::algorithm {

// What an algorithm requires of a call.
struct Needs {
    bool commutative = false;                        // it combines operands in any order
    bool ranks_are_a_power_of_ports_plus_1 = false;  // of 2, if the algorithm has one port
    bool torus = false;                              // GlobalArgs::torus
};

// Numbers of ranks for which an algorithm combines by the association of reproducible reductions
// (Postcondition::reproducible).
enum class Reproducible : std::uint8_t { never, powers_of_two, always };

// The part of the tuning that an algorithm follows; leaders: and inner; groups: leaders alone, for
// each of its groups has one.
enum class Tunes : std::uint8_t { nothing, segments, ports, throttle, inner, leaders, groups };

constexpr std::int64_t no_claim = -1;

// Tests compare the claims with the schedules that it builds.
struct Algorithm {
    const char* name;
    const char* source;  // author, year, title, DOI, algorithm number
    Needs needs = {};
    Reproducible reproducible = Reproducible::never;
    Tunes tunes = Tunes::nothing;
    bool follows_topology = false;  // schedules depend on which ranks share a node
    Rank (*leaders)(const GlobalArgs&) =
        nullptr;  // if it follows Tuning::inner: how many leaders exchange
    // The makespan if a message takes one unit, with Tuning::ports. Null, or no_claim of a call: it
    // depends on the topology.
    std::int64_t (*rounds)(const GlobalArgs&);
    // The most that any rank sends. Null, or for bytes a call whose sizes not all ranks know: a
    // rank sends each of its blocks once, to its destination.
    std::int64_t (*sent_messages_max)(const GlobalArgs&);
    std::int64_t (*sent_bytes_max)(const GlobalArgs&);
    // The sum over all ranks of the bytes sent to other nodes. Null: no claim.
    std::int64_t (*bytes_between_nodes)(const GlobalArgs&) = nullptr;
    void (*build)(const Problem&, ScheduleBuilder&);

    // sent_bytes_max, or no_claim.
    std::int64_t claimed_bytes(const GlobalArgs& agreed) const {
        return sent_bytes_max && agreed.bytes >= 0 ? sent_bytes_max(agreed) : no_claim;
    }
    bool follows_inner() const { return tunes == Tunes::inner || tunes == Tunes::leaders; }
    bool follows_leaders() const { return tunes == Tunes::leaders || tunes == Tunes::groups; }

    // The need that a call does not meet ("an operation that commutes; this call's does not");
    // empty: none.
    std::string unmet_need(const GlobalArgs& agreed) const;
    // All needs, regardless of the call ("an operation that commutes"); empty: none.
    std::string needs_in_words() const;
};

Result<Schedule> build_rank(const Algorithm& algorithm, const Problem& problem);
Result<std::vector<Schedule>> build_all(const Algorithm& algorithm,
                                        std::span<const Problem> problems);

}  // namespace weft::algorithm
