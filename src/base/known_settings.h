// The names of all settings in the environment, so that a misspelt one is noticed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Without the WEFT_ALGORITHM_<COLLECTIVE>.
std::span<const std::string_view> known_settings();

// Of the others that begin with WEFT_, a sentence about each that names the known one nearest to it.
// `further` are known too. What tools and tests of Weft read is passed over.
std::vector<std::string> warnings_of_unknown_settings(std::span<const char* const> environment,
                                                      std::span<const std::string> further);

}  // namespace weft
