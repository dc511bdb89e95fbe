// The computation that stands for a program's own: a fixed amount of arithmetic, calibrated alone.
//
// It never looks at a clock to decide when to end: a loop that did would call stolen CPU time
// its own work, and every engine would seem to overlap perfectly.
#pragma once

#include <cstdint>

namespace weft::bench {

// `iterations` steps of a chain of dependent multiplications; touches no memory.
void work(std::int64_t iterations);

// What one iteration takes on this core now, when nothing else runs on it.
double calibrate_ns_per_iteration();

}  // namespace weft::bench
