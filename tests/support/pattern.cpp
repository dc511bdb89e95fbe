#include "support/pattern.h"

#include <regex>

namespace weft::test {
namespace {

Match strings_of(const std::smatch& match) { return {match.begin(), match.end()}; }

}  // namespace

std::vector<Match> matches_in(const std::string& text, const std::string& pattern) {
    const std::regex form(pattern);
    std::vector<Match> all;
    for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at) {
        all.push_back(strings_of(*at));
    }
    return all;
}

Match match_of(const std::string& text, const std::string& pattern) {
    std::smatch match;
    return std::regex_match(text, match, std::regex(pattern)) ? strings_of(match) : Match{};
}

}  // namespace weft::test
