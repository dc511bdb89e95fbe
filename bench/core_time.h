// What something takes from a core: counted by a process of policy SCHED_IDLE that works there
// meanwhile. It lacks what interrupts and the network stack take as well, which getrusage charges to
// nobody.
#pragma once

#include <functional>

#include "bench/job.h"
#include "bench/spinner.h"

namespace weft::bench {

// On this rank, in microseconds.
struct CoreTime {
    double took = 0;  // from the beginning of the action to its end
    double lost = 0;  // CPU time of the core, in the window
};

// Collective over a job whose ranks have a core each; `spinner` runs on this rank's. Counts from the
// beginning of `action` to its end, and for `window_us` at least: what is still in the sockets'
// buffers or under way then costs this core as well. `prepare` is done right before, uncounted.
CoreTime measure_core_time(const Job& job, Spinner& spinner, double window_us,
                           const std::function<void()>& prepare,
                           const std::function<void()>& action);

}  // namespace weft::bench
