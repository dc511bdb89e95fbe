// In which form a collective's call is made.
#pragma once

#include <cstdint>

namespace weft::bench {

// `first`: nonblocking, in a communicator in which no call of its kind was made before.
enum class CallForm : std::uint8_t { nonblocking, blocking, persistent, first };

}  // namespace weft::bench
