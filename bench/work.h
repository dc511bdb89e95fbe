// The computation that stands in for a program's: a fixed amount of arithmetic, calibrated alone.
//
// It never looks at a clock to decide when to end: such a loop would count CPU time taken by others
// as its own work, and every engine would seem to overlap perfectly.
#pragma once

#include <cstdint>

namespace weft::bench {

// `iterations` steps of a chain of dependent multiplications; touches no memory.
void work(std::int64_t iterations);

// How long an iteration takes on this core now, if nothing else runs there.
double calibrate_ns_per_iteration();

}  // namespace weft::bench
