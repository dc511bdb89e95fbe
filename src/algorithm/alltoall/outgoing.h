// The blocks that a rank sends in an alltoall.
#pragma once

#include <vector>

#include "algorithm/algorithm.h"

namespace weft::algorithm {

// In place all blocks for others are copied to scratch, so that what arrives overwrites none.
class Outgoing {
  public:
    Outgoing(const AlltoallArgs& in, ScheduleBuilder& schedule) : in_(in) {
        if (!in.in_place) {
            schedule.copy(in.from_block(in.rank), in.into_block(in.rank));
            return;
        }
        const Region room = schedule.scratch(in.from.bytes);
        saved_.assign(static_cast<std::size_t>(in.ranks), no_op);
        for (Rank r = 0; r < in.ranks; ++r) {
            if (r == in.rank) continue;
            const Region block = room.part(r * in.bytes, in.bytes);
            saved_[static_cast<std::size_t>(r)] = schedule.copy(in.from_block(r), block);
        }
        in_.from = room;
    }

    Region block(Rank to) const { return in_.from_block(to); }

    // The block is there to be sent; and what arrives from this rank may land in its place.
    OpId ready(Rank r) const {
        return saved_.empty() ? no_op : saved_[static_cast<std::size_t>(r)];
    }

  private:
    AlltoallArgs in_;
    std::vector<OpId> saved_;  // by rank
};

}  // namespace weft::algorithm
