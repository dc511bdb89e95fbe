// Settings of the mpi transport, from the environment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace weft::mpi {

struct Settings {
    // WEFT_RENDEZVOUS, in bytes; at most one more than a frame carries
    std::size_t eager_threshold = 16 * 1024;
    std::uint32_t first_sequence = 0;  // for tests: where frames are counted from, on all ranks

    static Result<Settings> from_environment();
};

}  // namespace weft::mpi
