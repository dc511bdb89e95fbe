// How much of a core an action takes: the time that a process of policy SCHED_IDLE cannot use there
// meanwhile. This includes interrupts and the network stack, which getrusage charges to nobody.
#pragma once

#include <functional>
#include <string>

#include "bench/job.h"

namespace weft::bench {

// On this rank, in microseconds.
struct CoreTime {
    double took = 0;  // the action's duration
    double lost = 0;  // CPU time taken from the core, in the window
};

// Makes the process. It forks: call it before the library has threads or descriptors.
void prepare_core_time();

// Why it cannot be measured here; "": it can. Collective.
std::string core_time_absence(const Job& world);

// Collective over a job whose ranks have a core each. Counts while `action` lasts, and at least for
// `window_us`: bytes that are still in sockets or in flight afterwards cost this core as well.
CoreTime measure_core_time(const Job& world, double window_us, const std::function<void()>& action);

}  // namespace weft::bench
