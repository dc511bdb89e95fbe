// Words for a shell.
#pragma once

#include <string>

namespace weft::bench {

// Quotes a word so that a shell reads it unchanged.
std::string shell_word(const std::string& word);

}  // namespace weft::bench
