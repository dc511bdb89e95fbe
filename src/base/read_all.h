#pragma once

#include <string>

namespace weft {

// Appends what can be read from a descriptor to `data`, up to its end. False: errno says why, and
// `data` has what came before.
bool read_all(int fd, std::string& data);

}  // namespace weft
