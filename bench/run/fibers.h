// Computing in a fiber while another one waits. Not every build has fibers.
#pragma once

#include <functional>
#include <string>

#include "bench/job.h"
#include "bench/scenario/cell.h"

namespace weft::bench {

// Why this cannot be done in this job; "": it can. Collective; the same on all ranks.
std::string fiber_absence(const Job& world, const Progress& progress);

// Runs `body` as a fiber, whose computations may then be preempted.
void run_as_fiber(const Progress& progress, const std::function<void()>& body);

// Only in a fiber. Returns when both have ended.
void compute_beside_wait(const Progress& progress, const std::function<void()>& wait,
                         const std::function<void()>& computation);

// Lets the fiber that waits look; only inside of a computation.
void yield_fiber();

}  // namespace weft::bench
