// The int8 wire format: blocks of integers with a scale, and with a bound on their error.
//
// An element is its integer times the scale, which is such that the largest element of the block
// becomes 127 or -127. Encoding a block rounds each element to the nearest of these, which is off
// by half a scale at most. Combining two blocks decodes them, adds the elements in float32, and
// encodes the sums: the bound of the result is the sum of both bounds and half the new scale.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reduce/kernel_types.h"
#include "reduce/versions.h"

namespace weft {

struct Int8Block {
    static constexpr std::size_t elements = 120;

    // Not a number: nor are the elements. One of them was none, or infinite, or too large.
    float scale;
    // An element is off by at most this since operands were exact.
    float error;
    std::int8_t values[elements];
};
static_assert(sizeof(Int8Block) == 128);

// Blocks whose largest element is smaller than the first become zeros; the scales of others are
// normal numbers. In those with an element as large as the second, none is a number: otherwise a
// sum of two might overflow.
inline constexpr float int8_least = 0x1p-100f;
inline constexpr float int8_limit = 0x1p127f;

struct Int8Loops {
    // out[i] = left[i] + right[i], of blocks.
    Kernel sum;
    // `count` elements of float32 into blocks, of which the last is filled with zeros.
    void (*encode)(const void* from, void* into, std::size_t count);
    // The other way; returns the largest bound of a block.
    float (*decode)(const void* from, void* into, std::size_t count);
};

// REQUIRES: this processor can run `version`.
const Int8Loops& int8_loops_of(LoopVersion version);

}  // namespace weft
