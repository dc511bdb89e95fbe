// The secret that the ranks of one job share. A connection proves with it that it belongs to the
// job.
//
// It is random. `weft run` makes it, and it is only ever in memory and on the launcher's sockets.
// Without that launcher rank 0 makes it; while the ranks start, it is in a file that only their
// user can read, in the launcher's key-value space (startup/key_value.h), or in messages of their
// MPI. Where rank 0 serves the cards, each rank makes it of WEFT_JOB_KEY and what rank 0 has drawn
// (startup/meeting.cpp): it is as secret as that setting.
#pragma once

#include <array>
#include <cstddef>

namespace weft {

using JobKey = std::array<std::byte, 32>;

}  // namespace weft
