// How much of a core an action takes: the time that a process of policy SCHED_IDLE cannot use there
// meanwhile. This includes interrupts and the network stack, which getrusage charges to nobody.
#pragma once

#include <functional>

#include "bench/job.h"
#include "bench/spinner.h"

namespace weft::bench {

// On this rank, in microseconds.
struct CoreTime {
    double took = 0;  // the action's duration
    double lost = 0;  // CPU time taken from the core, in the window
};

// Collective over a job whose ranks have a core each; `spinner` runs on this rank's. Counts while
// `action` lasts, and at least for `window_us`: bytes that are still in sockets or in flight
// afterwards cost this core as well. Calls `prepare` right before, uncounted.
CoreTime measure_core_time(const Job& job, Spinner& spinner, double window_us,
                           const std::function<void()>& prepare,
                           const std::function<void()>& action);

}  // namespace weft::bench
