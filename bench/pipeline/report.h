// Shows measured broadcasts behind computations: as a table, lines of JSON, and a sentence.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "bench/json.h"
#include "bench/pipeline/measure.h"
#include "bench/pipeline/options.h"

namespace weft::bench {

// What this cell is compared with: the first of its size that does the same computation.
const PipelineCell& by_hand_of(std::span<const PipelineCell> cells, const PipelineCell& cell);

void print_legend(std::FILE* file, const PipelineOptions& options, const std::string& transports,
                  std::span<const PipelineCell> cells);
void print_table(std::FILE* file, std::span<const PipelineCell> cells);
JsonLine json_row(const PipelineCell& cell, const PipelineCell& by_hand,
                  const PipelineOptions& options, const JsonLine& circumstances);
// What the cells of the largest size show, good or bad.
std::string conclusion(std::span<const PipelineCell> cells);

}  // namespace weft::bench
