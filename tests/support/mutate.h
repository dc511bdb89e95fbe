// Seeded mutations of texts, for tests that hand malformed input to a reader.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "base/random.h"

namespace weft::test {

// What readers of numbers and words get wrong: bounds of integers, signs, fractions, blanks, characters of no text.
inline constexpr std::array tokens_of_interest = {
    std::string_view("0"),
    std::string_view("-1"),
    std::string_view("1"),
    std::string_view("255"),
    std::string_view("256"),
    std::string_view("2147483647"),
    std::string_view("4294967295"),
    std::string_view("4294967296"),
    std::string_view("9223372036854775807"),
    std::string_view("18446744073709551615"),
    std::string_view("18446744073709551616"),
    std::string_view("99999999999999999999999999999999999999"),
    std::string_view("1e308"),
    std::string_view("-1e-999"),
    std::string_view("0.0001"),
    std::string_view("."),
    std::string_view("nan"),
    std::string_view("inf"),
    std::string_view("0x10"),
    std::string_view(" "),
    std::string_view("\t"),
    std::string_view("\n"),
    std::string_view("\r\n"),
    std::string_view("\0", 1),
    std::string_view("\xff\xfe"),
};

// One to six changes, mostly few: characters, spans and lines are replaced, removed, doubled or moved, numbers replaced, the
// text cut. `words` are put in as well: a language's own.
template <class Words>
std::string mutated(std::string text, const Words& words, Prng& random) {
    const auto position = [&](std::size_t end) {
        return end == 0 ? 0 : static_cast<std::size_t>(random.below(end));
    };
    const auto word = [&]() -> std::string_view {
        const std::size_t all = std::size(words) + tokens_of_interest.size();
        const auto i = static_cast<std::size_t>(random.below(all));
        return i < std::size(words) ? std::string_view(std::data(words)[i])
                                    : tokens_of_interest[i - std::size(words)];
    };
    for (std::uint64_t left = 1 + random.below(1 + random.below(6)); left > 0; --left) {
        const std::size_t at = position(text.size() + 1);
        const std::size_t length = position(std::min<std::size_t>(text.size() - at, 40) + 1);
        switch (random.below(8)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(random.below(256));
                break;
            case 1: text.erase(at, length); break;
            case 2: text.insert(at, word()); break;
            case 3: text.insert(position(text.size() + 1), text.substr(at, length)); break;
            case 4:
                if (random.one_in(8)) text.resize(at);
                break;
            case 5: {  // a number, if one follows
                const std::size_t begin = text.find_first_of("0123456789", at);
                if (begin == text.npos) break;
                const std::size_t end =
                    std::min(text.find_first_not_of("0123456789", begin), text.size());
                text.replace(begin, end - begin, word());
                break;
            }
            case 6: {  // the line, elsewhere
                const std::size_t begin = text.rfind('\n', at) + 1;
                const std::size_t end = std::min(text.find('\n', at), text.size());
                if (end <= begin) break;
                const std::string line = text.substr(begin, end - begin) + "\n";
                if (random.one_in(2)) text.erase(begin, end - begin);
                const std::size_t to = text.find('\n', position(text.size() + 1));
                text.insert(to == text.npos ? text.size() : to + 1, line);
                break;
            }
            default: text.replace(at, length, word()); break;
        }
    }
    return text;
}

}  // namespace weft::test
