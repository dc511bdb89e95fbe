// What becomes of measured cells: a table, lines of JSON, and a sentence.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "bench/overlap/measure.h"
#include "bench/overlap/options.h"

namespace weft::bench {

// All cells of one collective.
void print_table(std::FILE* file, std::span<const Cell> cells);

// One row: what repeats the measurement, the medians, and the raw samples.
std::string json_row(const Cell& cell, const OverlapOptions& options);

// One sentence that says what the cells say, good or bad.
std::string conclusion(std::span<const Cell> cells, const OverlapOptions& options);

}  // namespace weft::bench
