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
        std::int64_t bytes = 0;
        for (Rank r = 0; r < in.ranks(); ++r) bytes += in.send.block(r).bytes;
        const Region room = schedule.scratch(bytes);
        saved_.assign(static_cast<std::size_t>(in.ranks()), {});
        std::int64_t at = 0;
        for (Rank r = 0; r < in.ranks(); ++r) {
            if (r == in.rank) continue;
            Saved& saved = saved_[static_cast<std::size_t>(r)];
            saved.block = room.part(at, in.send.block(r).bytes);
            saved.copied = schedule.copy(in.send.block(r), saved.block);
            at += saved.block.bytes;
        }
    }

    Region block(Rank to) const {
        return saved_.empty() ? from_.block(to) : saved_[static_cast<std::size_t>(to)].block;
    }

    // The block for rank `r` can be sent, and the block from rank `r` may be received in its place.
    OpId ready(Rank r) const {
        return saved_.empty() ? no_op : saved_[static_cast<std::size_t>(r)].copied;
    }

  private:
    struct Saved {
        Region block;
        OpId copied = no_op;
    };
    Layout from_;
    std::vector<Saved> saved_;  // by rank
};

}  // namespace weft::algorithm
