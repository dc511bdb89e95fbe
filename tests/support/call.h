// Calls as tests write them: both buffers with one type and one count.
#pragma once

#include <cstdint>

#include "algorithm/collective.h"
#include "weft/call.h"
#include "weft/collective.h"

namespace weft::test {

// Blocks that differ: by rank or neighbor, in elements.
struct BlockArrays {
    const std::int64_t* counts = nullptr;
    const std::int64_t* displacements = nullptr;
    const weft_type* types = nullptr;
};

struct Call {
    Collective collective = Collective::barrier;
    const void* send_buf = nullptr;
    void* recv_buf = nullptr;
    std::size_t count = 0;
    weft_type type = WEFT_BYTE;
    weft_op op = WEFT_OP_NULL;
    int root = 0;
    BlockArrays send_blocks = {};
    BlockArrays recv_blocks = {};

    operator weft_call() const {
        return {static_cast<weft_collective>(collective), op, root, side(send_buf, send_blocks),
                side(recv_buf, recv_blocks)};
    }

  private:
    weft_side side(const void* buf, const BlockArrays& blocks) const {
        return {const_cast<void*>(buf), count, reinterpret_cast<const std::size_t*>(blocks.counts),
                blocks.displacements,   type,  blocks.types};
    }
};

}  // namespace weft::test
