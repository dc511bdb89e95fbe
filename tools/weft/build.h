// What this build of Weft is: for `weft info`, and so that a measurement says what was measured.
#pragma once

#include <span>
#include <string>

namespace weft {

struct Build {
    const char* version;
    const char* commit;    // of the source, "-dirty" with changes beside it; "unknown" outside git
    std::string compiler;  // "gcc 12.2.0"
    const char* build_type;  // as CMake names it
    std::string flags;       // of the C++ compiler
};

Build this_build();

// By the names of WEFT_TRANSPORT. A test holds the list against what the library accepts.
std::span<const char* const> transports();
// Why tcp is not among them; null when it can be.
const char* tcp_absence();

}  // namespace weft
