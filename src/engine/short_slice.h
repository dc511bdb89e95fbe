// Asks the scheduler to run this thread at once when it is woken.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr std::uint64_t short_slice_ns = 100'000;

// As in <linux/sched/types.h>; current C libraries do not declare it.
struct SchedAttributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;  // within the ordinary policy: the slice, in ns
    std::uint64_t deadline;
    std::uint64_t period;
};

// Gives the calling thread a slice of short_slice_ns within SCHED_OTHER (Linux 6.12 and later). It
// then preempts a computing thread, instead of waiting until that one's slice ends. False: the
// kernel does not offer it, or forbids it.
bool request_short_slice();

// Gives the calling thread ten steps of nice more weight, where the process may (CAP_SYS_NICE, or
// RLIMIT_NICE). A thread that has just worked is otherwise behind a computing thread of equal
// weight until that one has had as much time, and the scheduler looks only at its next tick, 1 to 4
// ms later. False: it may not.
bool request_more_weight();

}  // namespace weft
