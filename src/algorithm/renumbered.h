// A call whose ranks are numbered in another order, such as that of a path through the network.
#pragma once

#include <vector>

#include "algorithm/problem.h"

namespace weft::algorithm {

// A schedule built for `problem` within `order` serves the call:
//
//   const Renumbered along(in, order);
//   const auto in_order = schedule.within(along.order);
//   alltoall_bruck.build(along.problem, schedule);
//
// REQUIRES: blocks of one size, whose locations are found only through Layout::block and Places.
class Renumbered {
  public:
    Renumbered(const Problem& in, std::vector<Rank> ranks);
    Renumbered(const Renumbered&) = delete;
    Renumbered& operator=(const Renumbered&) = delete;

    const std::vector<Rank> order;
    Problem problem;  // a rank's number is its index in `order`

  private:
    std::vector<std::int64_t> sizes_;
    std::vector<std::int64_t> offsets_;
};

}  // namespace weft::algorithm
