// Calls whose blocks differ: their arrays, checked and in bytes; and which bytes of the buffers
// they use.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "algorithm/problem.h"
#include "communicator/call/call.h"
#include "communicator/call/signature.h"

namespace weft {

// More than a process can address. Schedules compute small multiples of it: scratch for a block of
// every child in a tree, rounded up.
constexpr std::int64_t call_bytes_max = std::numeric_limits<std::int64_t>::max() / 64;

// Room for counts that cannot be the caller's own arrays: if block types differ, or neighbors are
// missing. Kept between calls, so that calls rarely allocate.
struct ByteCounts {
    std::vector<std::int64_t> send;
    std::vector<std::int64_t> recv;
};

// Checks the call's arrays and adds them to its signature. REQUIRES: the rest of the signature.
Status check_blocks(const weft_call& call, const CallContext& place, weft_type type,
                    ByteCounts& room, Signature& signature);

// The smallest displacement of a nonempty block.
std::int64_t least_displacement(const BlockSpans& blocks);

// In bytes, with the smallest displacement as offset 0.
struct NormalizedBlocks {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;

    NormalizedBlocks(const BlockSpans& blocks, std::int64_t unit_bytes);
    algorithm::BlockList list() const { return {sizes, offsets}; }
};

// Refuses blocks of the receive buffer that overlap. `list` is of these blocks.
Status check_apart(const NormalizedBlocks& list, const Signature& signature);

// From byte `begin` of a buffer up to byte `end`.
struct UsedRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

// The part of a buffer that a call uses.
struct BufferUse {
    std::int64_t bytes = 0;              // up to the end of the last block
    std::vector<UsedRange> ranges = {};  // if blocks differ: in order, apart; none: all bytes

    std::int64_t memory_bytes() const {
        return static_cast<std::int64_t>(ranges.capacity() * sizeof(UsedRange));
    }
};

std::vector<UsedRange> used_ranges(const NormalizedBlocks& list);
bool have_common_bytes(const void* left_buf, const BufferUse& left, const void* right_buf,
                       const BufferUse& right);

}  // namespace weft
