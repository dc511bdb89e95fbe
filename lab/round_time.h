// How long a collective takes on a torus whose links go one way, estimated by its rounds: each takes as long as its
// largest message, and its bytes take the longer of an interface's time and the fullest link's. The alternative, which
// simulates every message, is the LogGP machine.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.h"
#include "shape/torus.h"

namespace weft {

// Bytes count after a message's first.
struct RoundCosts {
    std::int64_t message_ps = 0;         // of any message: both CPUs and the latency
    std::int64_t cpu_byte_ps = 0;        // both CPUs, where they do not work beside the network
    std::int64_t interface_byte_ps = 0;  // of a rank
    std::int64_t link_byte_ps = 0;
    std::int64_t hop_ps = 0;
    std::int64_t reduction_byte_ps = 0;
    std::int64_t eager_bytes_max = 0;  // larger messages also take:
    std::int64_t asking_ps = 0;
};

// By the rounds of timetable(), with its refusals. `schedules[r]` is that of the rank at node r.
Result<std::int64_t> time_by_rounds_ps(std::span<const Schedule> schedules, const Torus& torus,
                                       const RoundCosts& costs);

}  // namespace weft
