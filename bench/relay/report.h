// Shows measured relays: as a table, lines of JSON, and a sentence.
#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "bench/json.h"
#include "bench/relay/measure.h"

namespace weft::bench {

// What is measured, and what the columns mean.
void print_legend(std::FILE* file, const RelayOptions& options, const std::string& transports);
void print_table(std::FILE* file, std::span<const RelayCell> cells, const RelayOptions& options);
JsonLine json_row(const RelayCell& cell, const RelayOptions& options,
                  const JsonLine& circumstances);
// What the cells show, good or bad, in a sentence or two.
std::string conclusion(std::span<const RelayCell> cells, const RelayOptions& options);

}  // namespace weft::bench
