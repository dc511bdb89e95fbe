// The short form of an overlap measurement: one table, what it shows, and whether to believe it.
#pragma once

#include <cstdio>
#include <span>

#include "bench/overlap/measure.h"
#include "bench/overlap/options.h"

namespace weft::bench {

// Whether something else must have played a part in a row: the cells of one collective and size, the first without
// background progress.
bool is_disturbed(std::span<const Cell> cells);

// All cells of a testbed. Every engine of a row was measured with the same work.
void print_summary(std::FILE* file, std::span<const Cell> cells, const OverlapOptions& options);

}  // namespace weft::bench
