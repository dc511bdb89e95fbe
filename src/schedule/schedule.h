// A schedule: one rank's operations of one collective and their dependencies. Immutable once
// sealed, and free of addresses, so that it can be cached and bound to buffers at every start.
//
// Stored flat: the operations, and the edges as a compressed list. There are two kinds of edges:
//   after completion   B starts when A has completed; named in the builder's calls
//   after issue        B is posted after A; derived by seal(), so that the messages of a lane are
//                      posted in schedule order, whichever becomes ready first
//
// A repeat is a block of operations stored once and run `iterations` times, at most `window` of
// them at a time (docs/decisions/0001-repeated-blocks.md):
//   - iteration i shifts regions of the user's buffers by i * stride, and regions of scratch by
//     (i mod window) * scratch_stride: iteration i reuses the scratch of iteration i - window
//   - iteration i begins when iteration i - window has completed
//   - in the last iteration every region is `short_bytes` shorter
//   - an edge inside the block may reach `distance` iterations forward (distance < window)
//   - the block lies between two joins: it begins after `entry`, and its end completes `exit`
//
// Thread safety: immutable, share freely.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
    scale,         // into = from, scaled as the reduction says; `into` may be `from`
    widen,         // into = from, of 16-bit elements, as float32: `into` has twice the bytes
    narrow,        // into = from, of float32, as 16-bit elements: `from` has twice the bytes
    encode,        // into = from, of float32, in the reduction's wire format (reduce/wire.h)
    decode,        // ... and back; of both, the bytes are those of float32
    call,          // function number `peer` of the program, which may read and write `into`
    // Only in the rest of a schedule compiled to task lists (offload/task_lists.h):
    await,   // completes when task list `peer` has reached its report number `from_offset`
    enable,  // lets task list `peer` pass its next `go`
};

enum class Buffer : std::uint8_t {
    send,
    recv,
    scratch,
    // The caller's own, where memory of the run stands in for them (Schedule::stand_in).
    given_send,
    given_recv,
};

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
    bool is_of_wire() const { return kind == OpKind::encode || kind == OpKind::decode; }
    bool converts() const {
        return kind == OpKind::scale || kind == OpKind::widen || kind == OpKind::narrow ||
               is_of_wire();
    }
    bool reduces() const { return kind == OpKind::reduce || kind == OpKind::reduce_right; }
    // Which of the two regions the operation uses.
    bool reads() const {
        return kind == OpKind::send || kind == OpKind::copy || converts() || reduces();
    }
    bool writes() const {
        return kind == OpKind::recv || kind == OpKind::copy || kind == OpKind::call || converts() ||
               reduces();
    }
};
static_assert(sizeof(Op) <= 40);

struct Edge {
    OpId to : 28;
    std::uint32_t distance : 4;  // iterations forward; 0 outside repeats
};
static_assert(sizeof(Edge) == 4);

struct Repeat {
    OpId first = 0;  // operations [first, first + ops) are the block
    std::uint32_t ops = 0;
    OpId entry = no_op;
    OpId exit = no_op;
    std::uint32_t window = 1;
    std::int64_t iterations = 0;
    std::int64_t stride = 0;
    std::int64_t scratch_begin = 0;  // iterations share the scratch before it
    std::int64_t scratch_stride = 0;
    std::int64_t short_bytes = 0;

    bool holds(OpId op) const { return op - first < ops; }
};

// The messages to or from one peer in this schedule.
struct ScheduleLane {
    Rank peer = -1;
    bool sends = false;
    OpId gate = no_op;  // no message of the lane is issued before this one
    OpId last = no_op;  // the last to be issued (in a repeat: in its last iteration)
};

class Schedule {
  public:
    Rank rank() const { return rank_; }
    Rank ranks() const { return ranks_; }

    std::span<const Op> ops() const { return ops_; }
    std::span<const Repeat> repeats() const { return repeats_; }

    // The operations that wait for `op` to complete.
    std::span<const Edge> after_completion(OpId op) const {
        return {edges_.data() + edge_begin_[op], edges_.data() + edge_begin_[op + 1]};
    }
    // The operation that waits for `op` to be posted; to == no_issue: none.
    Edge after_issue(OpId op) const { return issue_[op]; }
    static constexpr OpId no_issue = (1u << 28) - 1;

    // Edges of both kinds into each operation; in a repeat, those of a middle iteration.
    std::span<const std::uint32_t> in_degree() const { return in_degree_; }
    // Operations outside repeats that wait for nothing inside the schedule.
    std::span<const OpId> roots() const { return roots_; }

    std::span<const ScheduleLane> lanes() const { return lanes_; }
    // For sends and receives: index into lanes(). -1 for the rest.
    std::int32_t lane_of(OpId op) const { return lane_of_[op]; }

    // The reduction that combines the bytes of the receive `op` in place, if it waits for nothing
    // else and nothing else waits for `op`: then receiving may combine as well. no_op: none.
    OpId combines_arrival(OpId op) const;

    std::int64_t scratch_bytes() const { return scratch_bytes_; }
    // Where in scratch the memory begins that stands in for the caller's send or receive buffer;
    // -1: none does. Algorithms then work on operands, or results, that are not the caller's.
    std::int64_t stand_in(Buffer buffer) const {
        return buffer == Buffer::send ? send_stand_in_ : recv_stand_in_;
    }
    bool has_stand_ins() const { return send_stand_in_ >= 0 || recv_stand_in_ >= 0; }

    // The repeat that holds `op`, or null.
    const Repeat* repeat_of(OpId op) const;

    // `op` as it runs in `iteration` of its repeat; outside repeats, as stored.
    Op at(OpId op, std::int64_t iteration) const;

    // Bytes of the caller's buffer that the operations need.
    std::int64_t reach(Buffer buffer) const;

    // Bytes of all messages that this rank sends.
    std::int64_t sent_bytes() const;

    // The memory it holds; the cache's bound counts this.
    std::int64_t memory_bytes() const;

  private:
    friend class ScheduleBuilder;

    Rank rank_ = 0;
    Rank ranks_ = 1;
    std::int64_t scratch_bytes_ = 0;
    std::int64_t send_stand_in_ = -1;
    std::int64_t recv_stand_in_ = -1;
    std::vector<Op> ops_;
    std::vector<std::uint32_t> edge_begin_{0};
    std::vector<Edge> edges_;
    std::vector<Edge> issue_;
    std::vector<std::uint32_t> in_degree_;
    std::vector<OpId> roots_;
    std::vector<Repeat> repeats_;
    std::vector<ScheduleLane> lanes_;
    std::vector<std::int32_t> lane_of_;
};

// `op` of `repeat` as it runs in `iteration`: shifted, and shortened in the last one.
Op shifted(Op op, const Repeat& repeat, std::int64_t iteration);

}  // namespace weft
