// What an algorithm is: a function that builds one rank's schedule, and its claims as data.
//
// One file per algorithm in algorithm/<collective>/, and one line in that folder's list.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schedule/builder.h"

namespace weft::algorithm {

// What may be tuned without another algorithm; the same on every rank.
struct Tuning {
    std::int64_t segment_bytes = 128 * 1024;  // pipelines
    std::uint32_t window = 8;                 // pipelines: segments in flight
};

// The size of a call, for claims and selection.
struct Size {
    Rank ranks = 1;
    std::int64_t bytes = 0;  // one rank's contribution (bcast, allreduce: the whole vector)
    Tuning tuning;
    std::int64_t element_bytes = 1;  // pipelines: segments hold whole elements
};

struct BarrierArgs {
    Rank rank = 0;
    Rank ranks = 1;
};

struct BcastArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Rank root = 0;
    Region data;
    std::int64_t element_bytes = 1;  // segments hold whole elements
    Tuning tuning;
};

struct AllgatherArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Region mine;  // in place: where this rank's block lies within `all`
    Region all;   // [ranks] blocks of mine.bytes
    bool in_place = false;

    Region block(Rank r) const { return all.part(r * mine.bytes, mine.bytes); }
};

struct AllreduceArgs {
    Rank rank = 0;
    Rank ranks = 1;
    Region from;  // in place: the same as `into`
    Region into;
    bool in_place = false;
    std::int64_t element_bytes = 1;
};

// What every algorithm states of itself. Tests hold the claims against the built schedules.
template <class Args>
struct Algorithm {
    const char* name;
    const char* source;                    // author, year, title, DOI, algorithm number
    std::int64_t (*rounds)(Size);          // makespan when a message takes one unit, one port
    std::int64_t (*sent_bytes_max)(Size);  // by the rank that sends most
    Status (*build)(const Args&, ScheduleBuilder&);
};

using Barrier = Algorithm<BarrierArgs>;
using Bcast = Algorithm<BcastArgs>;
using Allgather = Algorithm<AllgatherArgs>;
using Allreduce = Algorithm<AllreduceArgs>;

std::span<const Barrier* const> barriers();
std::span<const Bcast* const> bcasts();
std::span<const Allgather* const> allgathers();
std::span<const Allreduce* const> allreduces();

}  // namespace weft::algorithm
