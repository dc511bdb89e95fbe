// In which form a collective's call is made.
#pragma once

#include <cstdint>

namespace weft::bench {

enum class CallForm : std::uint8_t { nonblocking, blocking, persistent };

}  // namespace weft::bench
