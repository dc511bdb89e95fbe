// Spans of bytes.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

using Bytes = std::span<const std::byte>;
using MutBytes = std::span<std::byte>;

}  // namespace weft
