// The secret that the ranks of one job share: random, from the launcher, only ever in memory and on
// the launcher's own sockets. A connection proves with it that it belongs to the job.
#pragma once

#include <array>
#include <cstddef>

namespace weft {

using JobKey = std::array<std::byte, 32>;

}  // namespace weft
