// Shows measured waits: as tables, lines of JSON, and sentences.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "bench/json.h"
#include "bench/waits/measure.h"
#include "bench/waits/options.h"

namespace weft::bench {

// A situation's title, what is measured, and what the columns mean.
void print_legend(std::FILE* file, const Situation& situation, const WaitsOptions& options,
                  const std::string& transports);

// All cells of a situation: for each point those of `engines` engines.
void print_table(std::FILE* file, const Situation& situation, std::span<const WaitsCell> cells,
                 std::size_t engines);

// If engines are compared by ratios, a line for each but the first; otherwise "".
std::string conclusion(const Situation& situation, std::span<const WaitsCell> cells,
                       std::size_t engines);

// `base`: the first engine's row; may be `cell` itself.
JsonLine json_row(const Situation& situation, const WaitsCell& cell, const WaitsCell& base,
                  const JsonLine& circumstances);

}  // namespace weft::bench
