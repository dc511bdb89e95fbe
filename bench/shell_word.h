// Words for a shell.
#pragma once

#include <string>

namespace weft::bench {

// A word that a shell reads as it is.
std::string shell_word(const std::string& word);

}  // namespace weft::bench
