// One operation of a schedule: plain data, no addresses.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace weft {

using OpId = std::uint32_t;
inline constexpr OpId no_op = 0xffffffffu;  // as a predecessor: none

enum class OpKind : std::uint8_t {
    join,          // nothing; completes when its predecessors have
    send,          // region `from` to `peer`
    recv,          // region `into` from `peer`
    copy,          // into = from
    reduce,        // into = from (op) into
    reduce_right,  // into = into (op) from; `from` may be overwritten
    call,          // function number `peer` of the program, which may read and write `into`
    // Only in the rest of a schedule compiled to task lists (offload/task_lists.h):
    await,   // completes when task list `peer` has reached its report number `from_offset`
    enable,  // lets task list `peer` pass its next `go`
};

enum class Buffer : std::uint8_t { send, recv, scratch };

// A piece of one of the call's buffers.
struct Region {
    Buffer buffer = Buffer::send;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;

    friend bool operator==(const Region&, const Region&) = default;
    Region part(std::int64_t from, std::int64_t length) const {
        return {buffer, offset + from, length};
    }
};

struct Op {
    OpKind kind = OpKind::join;
    Buffer from_buffer = Buffer::send;
    Buffer into_buffer = Buffer::send;
    Rank peer = -1;  // rank in the communicator; of a call: the function's number
    std::int64_t bytes = 0;
    std::int64_t from_offset = 0;
    std::int64_t into_offset = 0;

    Region from() const { return {from_buffer, from_offset, bytes}; }
    Region into() const { return {into_buffer, into_offset, bytes}; }
    bool is_message() const { return kind == OpKind::send || kind == OpKind::recv; }
    bool reduces() const { return kind == OpKind::reduce || kind == OpKind::reduce_right; }
    // Which of the two regions the operation uses.
    bool reads() const { return kind == OpKind::send || kind == OpKind::copy || reduces(); }
    bool writes() const {
        return kind == OpKind::recv || kind == OpKind::copy || kind == OpKind::call || reduces();
    }
};
static_assert(sizeof(Op) <= 40);

}  // namespace weft
