// The system's words for an error.
#pragma once

#include <errno.h>
#include <string.h>

#include <string>

namespace weft {

// Where descriptors are missing it says so.
inline std::string error_text(int error) {
    const bool is_shortage = error == EMFILE || error == ENFILE;
    return std::string(strerror(error)) +
           (is_shortage ? ": no descriptor is left (ulimit -n)" : "");
}

}  // namespace weft
