// Shared by the programs of tests/fault: ranks of a job in which something goes wrong.
#pragma once

#include <weft/status.h>

#include <cstdio>
#include <string>

#include "base/clock.h"

namespace weft::test {

inline double now_s() { return static_cast<double>(now_ns()) * 1e-9; }

// Says why the rank has failed; returns its exit status.
inline int fail(int rank, const std::string& why) {
    std::fprintf(stderr, "rank %d: %s; detail: %s\n", rank, why.c_str(), weft_last_detail());
    return 1;
}

}  // namespace weft::test
