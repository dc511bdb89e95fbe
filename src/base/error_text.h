// The system's text for an error.
#pragma once

#include <errno.h>
#include <string.h>

#include <string>

namespace weft {

// Says so if descriptors have run out.
inline std::string error_text(int error) {
    const bool is_shortage = error == EMFILE || error == ENFILE;
    return std::string(strerror(error)) +
           (is_shortage ? ": no descriptor is left (ulimit -n)" : "");
}

}  // namespace weft
