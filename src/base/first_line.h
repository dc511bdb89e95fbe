// Short files of the operating system, such as those of /proc and /sys. (Without streams: they
// would bring half a megabyte into a library that has its C++ library linked statically.)
#pragma once

#include <string>

namespace weft {

// The first line of a file, at most 4095 characters of it; empty: it cannot be read.
std::string first_line_of(const std::string& path);

}  // namespace weft
