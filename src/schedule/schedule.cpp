#include "schedule/schedule.h"

#include <algorithm>

namespace weft {

const Repeat* Schedule::repeat_of(OpId op) const {
    for (const Repeat& repeat : repeats_) {
        if (repeat.holds(op)) return &repeat;
    }
    return nullptr;
}

Op Schedule::at(OpId op, std::int64_t iteration) const {
    const Repeat* repeat = repeat_of(op);
    return repeat ? shifted(ops_[op], *repeat, iteration) : ops_[op];
}

std::int64_t Schedule::reach(Buffer buffer) const {
    std::int64_t end = 0;
    auto see = [&](Region region) {
        if (region.buffer != buffer || region.bytes == 0) return;
        end = std::max(end, region.offset + region.bytes);
    };
    for (OpId id = 0; id < ops_.size(); ++id) {
        // The last iteration of a repeat may be shorter than the one before it.
        const Repeat* repeat = repeat_of(id);
        const std::int64_t last = repeat ? repeat->iterations - 1 : 0;
        for (std::int64_t i = std::max<std::int64_t>(last - 1, 0); i <= last; ++i) {
            const Op op = at(id, i);
            if (op.reads()) see(op.from());
            if (op.writes()) see(op.into());
        }
    }
    return end;
}

std::int64_t Schedule::sent_bytes() const {
    std::int64_t sent = 0;
    for (OpId id = 0; id < ops_.size(); ++id) {
        if (ops_[id].kind != OpKind::send) continue;
        const Repeat* repeat = repeat_of(id);
        sent += repeat ? repeat->iterations * ops_[id].bytes - repeat->short_bytes : ops_[id].bytes;
    }
    return sent;
}

OpId Schedule::combines_arrival(OpId op) const {
    const std::span<const Edge> edges = after_completion(op);
    if (ops_[op].kind != OpKind::recv || edges.size() != 1 || edges[0].distance != 0) return no_op;
    const OpId next = edges[0].to;
    const bool is_of_it = ops_[next].kind == OpKind::reduce && ops_[next].into() == ops_[op].into();
    return is_of_it && in_degree_[next] == 1 ? next : no_op;
}

std::int64_t Schedule::memory_bytes() const {
    auto held = [](const auto& v) {
        return static_cast<std::int64_t>(v.capacity() * sizeof(v[0]));
    };
    return static_cast<std::int64_t>(sizeof *this) + held(ops_) + held(edge_begin_) + held(edges_) +
           held(issue_) + held(in_degree_) + held(roots_) + held(repeats_) + held(lanes_) +
           held(lane_of_);
}

Op shifted(Op op, const Repeat& repeat, std::int64_t iteration) {
    auto shift = [&](Buffer buffer, std::int64_t offset) {
        if (buffer != Buffer::scratch) return offset + iteration * repeat.stride;
        if (offset < repeat.scratch_begin) return offset;
        return offset + iteration % repeat.window * repeat.scratch_stride;
    };
    op.from_offset = shift(op.from_buffer, op.from_offset);
    op.into_offset = shift(op.into_buffer, op.into_offset);
    if (iteration == repeat.iterations - 1) op.bytes -= repeat.short_bytes;
    return op;
}

}  // namespace weft
