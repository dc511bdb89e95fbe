// The secret that the ranks of one job share: random, from the launcher, only ever in memory and on
// the launcher's own sockets; without such a launcher from rank 0, and while the ranks start in a file
// that only their user can read, or in what a launcher of MPI programs keeps for its job
// (startup/key_value.h), or over their MPI. A connection proves with it that it belongs to the job.
#pragma once

#include <array>
#include <cstddef>

namespace weft {

using JobKey = std::array<std::byte, 32>;

}  // namespace weft
