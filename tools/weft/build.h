// Describes this build of Weft, for `weft info` and for measurements.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Build {
    const char* version;
    const char* commit;    // of the source, with "-dirty" if it was changed; "unknown" outside git
    std::string compiler;  // "gcc 12.2.0"
    const char* build_type;  // as CMake names it
    std::string flags;       // of the C++ compiler
};

Build this_build();

// The names for WEFT_TRANSPORT. A test compares the list with what the library accepts.
std::vector<const char*> transports();
// Why tcp is not among them; null if it is.
const char* tcp_absence();
// The same of ucx, and of the library of fibers.
const char* ucx_absence();
const char* fiber_absence();

}  // namespace weft
