// Shows measured cells: as a table, lines of JSON, and a sentence.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "bench/json.h"
#include "bench/overlap/measure.h"
#include "bench/overlap/options.h"

namespace weft::bench {

// All cells of one collective.
void print_table(std::FILE* file, std::span<const Cell> cells, const OverlapOptions& options);

// One row: the circumstances, the medians, and each rank's raw samples.
JsonLine json_row(const Cell& cell, const OverlapOptions& options, const JsonLine& circumstances);

// What the columns mean.
void print_legend(std::FILE* file, const OverlapOptions& options);

// What the cells show, good or bad, in a sentence or two.
std::string conclusion(std::span<const Cell> cells, const OverlapOptions& options);

}  // namespace weft::bench
