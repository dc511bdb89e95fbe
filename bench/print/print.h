// Tables and a conclusion in the terminal, from a file of samples alone.
#pragma once

#include <cstdio>
#include <string>

namespace weft::bench {

// Returns the exit status: 1, with a sentence, if the file cannot be read.
int print_samples(std::FILE* file, const std::string& samples);

}  // namespace weft::bench
