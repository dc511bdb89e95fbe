// `weft bench micro`: what has no operation: building schedules, and the loops that combine, by
// their versions (reduce/versions.h).
#pragma once

namespace weft::bench {

// Prints. Returns the exit status.
int bench_micro(int repetitions);

}  // namespace weft::bench
