// Regular expressions, compiled in one unit: <regex> adds seconds to each unit that includes it.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

// A match: all of it, then what its groups caught.
using Match = std::vector<std::string>;

// All matches in a text, in order.
std::vector<Match> matches_in(const std::string& text, const std::string& pattern);

// The match of a whole text; empty if it does not match.
Match match_of(const std::string& text, const std::string& pattern);

}  // namespace weft::test
