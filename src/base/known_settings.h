// The names of all settings in the environment, so that a misspelled one is noticed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// All but WEFT_ALGORITHM_<COLLECTIVE>.
std::span<const std::string_view> known_settings();

// For each unknown variable that begins with WEFT_, a sentence that names the nearest known one.
// `further` are known too. Variables that Weft's tools and tests read are skipped.
std::vector<std::string> warnings_of_unknown_settings(std::span<const char* const> environment,
                                                      std::span<const std::string> further);

}  // namespace weft
