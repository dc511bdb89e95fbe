// Sizes as people write them: "8:4M" (every eighth power, and the end), or "8,512,16K".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace weft::bench {

// Refuses anything but a list or range of sizes (K, M and G are powers of 1024), with a sentence.
Result<std::vector<std::int64_t>> parse_sizes(const std::string& text);

// "16K" for 16384; the plain number if no unit divides it.
std::string size_text(std::int64_t bytes);

}  // namespace weft::bench
