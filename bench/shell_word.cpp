// Quotes words.
#include "bench/shell_word.h"

#include <string_view>

namespace weft::bench {

std::string shell_word(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:,./@%+";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
}

}  // namespace weft::bench
