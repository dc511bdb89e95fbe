// Wire formats: what float32 elements are in the messages of a communicator that has one, to send
// fewer bytes (docs/decisions/0025-wire-formats.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/float_state.h"

namespace weft {

enum class WireFormat : std::uint8_t { exact, bfloat16, int8 };
inline constexpr unsigned wire_formats = 3;
// The values of the setting "wire".
inline constexpr const char* wire_format_names[wire_formats] = {"exact", "bfloat16", "int8"};

// So many elements become so many bytes; they are encoded and decoded together.
struct WireBlock {
    std::int64_t elements;
    std::int64_t bytes;

    // The last block may have fewer elements, not fewer bytes.
    constexpr std::int64_t bytes_of(std::int64_t count) const {
        return (count + elements - 1) / elements * bytes;
    }
};

constexpr WireBlock wire_block(WireFormat format) {
    switch (format) {
        case WireFormat::exact: break;
        case WireFormat::bfloat16: return {1, 2};
        case WireFormat::int8: return {120, 128};
    }
    return {1, 4};
}

// `count` elements of float32, in blocks that begin at the first of them. bfloat16 rounds as the
// reduction does, int8 to the nearest. REQUIRES: `format` is not exact.
void encode_floats(WireFormat format, Rounding rounding, const void* from, void* into,
                   std::size_t count);
// Returns what an element may be off by, at most, since all were exact. 0 for bfloat16, whose
// errors are not added up.
float decode_floats(WireFormat format, const void* from, void* into, std::size_t count);

}  // namespace weft
