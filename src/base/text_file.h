// Reading a small text file that a setting names.
#pragma once

#include <string>

#include "base/status.h"

namespace weft {

// The file's content. Refused with the reason alone, such as "Is a directory": the caller names the
// file and says what it expected. Only a regular file is read, and only one that is text, not empty
// and of at most 16 MiB: a FIFO would block, and a device may have no end.
Result<std::string> read_text_file(const char* path);

}  // namespace weft
