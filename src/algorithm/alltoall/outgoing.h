// The blocks that a rank sends in an alltoall.
#pragma once

#include <vector>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

// In place, blocks for others are first copied to scratch: arriving ones must not overwrite them.
class Outgoing {
  public:
    Outgoing(const Problem& in, ScheduleBuilder& schedule) : from_(in.send) {
        if (!in.in_place) {
            schedule.copy(in.send.block(in.rank), in.recv.block(in.rank));
            return;
        }
        const Region room = schedule.scratch(in.ranks() * in.send.bytes);
        saved_.assign(static_cast<std::size_t>(in.ranks()), no_op);
        for (Rank r = 0; r < in.ranks(); ++r) {
            if (r == in.rank) continue;
            const Region block = room.part(r * in.send.bytes, in.send.bytes);
            saved_[static_cast<std::size_t>(r)] = schedule.copy(in.send.block(r), block);
        }
        from_.buffer = room.buffer;
        from_.offset = room.offset;
    }

    Region block(Rank to) const { return from_.block(to); }

    // The block for rank `r` can be sent, and the block from rank `r` may be received in its place.
    OpId ready(Rank r) const {
        return saved_.empty() ? no_op : saved_[static_cast<std::size_t>(r)];
    }

  private:
    Layout from_;
    std::vector<OpId> saved_;  // by rank
};

}  // namespace weft::algorithm
