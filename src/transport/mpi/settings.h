// What can be set about the mpi transport, from the environment.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace weft::mpi {

struct Settings {
    // WEFT_RENDEZVOUS, at most what a frame carries: larger messages wait for their receive
    std::size_t whole_below = 16 * 1024;

    static Result<Settings> from_environment();
};

}  // namespace weft::mpi
