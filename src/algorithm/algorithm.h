// What an algorithm is: a function that builds one rank's schedule, and its claims as data.
//
// One file per algorithm in algorithm/<collective>/, and one line in that folder's list.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/builder.h"

namespace weft::algorithm {

// What may be tuned without another algorithm; the same on every rank.
struct Tuning {
    std::int64_t segment_bytes = 128 * 1024;  // pipelines
    std::uint32_t window = 8;                 // pipelines: segments in flight
    std::uint32_t ports = 1;                  // messages a rank sends, and receives, at a time
};

// What every rank knows alike of a call: for claims and selection.
struct Size {
    Rank ranks = 1;
    std::int64_t bytes = 0;  // one block: what one rank contributes or gets
    Tuning tuning;
    std::int64_t element_bytes = 1;  // pipelines: segments hold whole elements
    Rank root = 0;
    bool commutative = true;  // the operation, if there is one
    bool combines = false;    // operands can be combined on arrival (transport.h: Combining)
};

// One rank's part in a call of any collective; each takes what it knows.
struct Problem {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    std::int64_t bytes = 0;  // as Size::bytes
    std::int64_t element_bytes = 1;
    bool in_place = false;
    Tuning tuning;
    bool commutative = true;
    bool combines = false;

    Size size() const { return {ranks, bytes, tuning, element_bytes, root, commutative, combines}; }
};

// What the algorithms of a collective are told of a problem.

struct BarrierArgs {
    Rank rank = 0;
    Rank ranks = 1;

    static BarrierArgs of(const Problem& problem);
};

struct BcastArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    Region data;
    std::int64_t element_bytes = 1;  // segments hold whole elements
    Tuning tuning;

    static BcastArgs of(const Problem& problem);
};

struct GatherArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    Region mine;  // in place: the root's block within `all`
    Region all;   // on the root: [ranks] blocks of mine.bytes
    bool in_place = false;

    Region block(Rank r) const { return all.part(r * mine.bytes, mine.bytes); }
    static GatherArgs of(const Problem& problem);
};

struct ScatterArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    Region all;   // on the root: [ranks] blocks of mine.bytes
    Region mine;  // in place: the root's block within `all`
    bool in_place = false;

    Region block(Rank r) const { return all.part(r * mine.bytes, mine.bytes); }
    static ScatterArgs of(const Problem& problem);
};

struct AllgatherArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Region mine;  // in place: where this rank's block lies within `all`
    Region all;   // [ranks] blocks of mine.bytes
    bool in_place = false;
    Tuning tuning;

    Region block(Rank r) const { return all.part(r * mine.bytes, mine.bytes); }
    static AllgatherArgs of(const Problem& problem);
};

struct AlltoallArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Region from;  // in place: the same as `into`
    Region into;  // both: [ranks] blocks of `bytes`
    std::int64_t bytes = 0;
    bool in_place = false;

    Region from_block(Rank r) const { return from.part(r * bytes, bytes); }
    Region into_block(Rank r) const { return into.part(r * bytes, bytes); }
    static AlltoallArgs of(const Problem& problem);
};

struct ReduceArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    Region from;  // in place on the root: the same as `into`
    Region into;  // on the root
    bool in_place = false;
    bool commutative = true;

    static ReduceArgs of(const Problem& problem);
};

struct AllreduceArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Region from;  // in place: the same as `into`
    Region into;
    bool in_place = false;
    std::int64_t element_bytes = 1;

    static AllreduceArgs of(const Problem& problem);
};

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
    std::int64_t (*rounds)(Size);  // makespan when a message takes one unit, and Tuning::ports
    std::int64_t (*sent_messages_max)(Size);  // by the rank that sends most
    std::int64_t (*sent_bytes_max)(Size);
    Status (*build)(const Problem&, ScheduleBuilder&);

    // What a call lacks, as "an operation that commutes; this call's does not"; empty: nothing.
    std::string unmet_need(const Size& size) const;
};

// `function` builds from the arguments of its collective: builds<function> is an Algorithm::build.
template <class Args>
Args arguments_of(Status (*)(const Args&, ScheduleBuilder&), const Problem& problem) {
    return Args::of(problem);
}
template <auto function>
Status builds(const Problem& problem, ScheduleBuilder& schedule) {
    return function(arguments_of(function, problem), schedule);
}

// This rank's schedule.
Result<Schedule> build_rank(const Algorithm& algorithm, const Problem& problem);

// The schedules of all ranks; problem.rank is not looked at.
Result<std::vector<Schedule>> build_all(const Algorithm& algorithm, Problem problem);

}  // namespace weft::algorithm
