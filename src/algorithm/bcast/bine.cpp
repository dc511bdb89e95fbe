// Broadcast along a Bine tree, which has a binomial tree's rounds and messages, but shorter ways: ranks
// at numbers in base -2 whose lowest digits are complements of each other are parent and child, so
// children lie on both sides of their parent, and fewer messages leave a group of nearby ranks. A rank
// sends to the child with the largest subtree first. Any number of ranks, any root; ranks beyond a power
// of two get the data from a neighbor.
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    bcast_along(bine_tree(in.rank, in.ranks(), in.root()), in.recv.block(), schedule.start(),
                schedule, in.agreed.tuning.throttle);
    return ok;
}

}  // namespace

extern const Algorithm bcast_bine = {
    .name = "bine",
    .source =
        "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
        "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (distance halving)",
    .tunes = Tunes::throttle,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return floor_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * floor_log2(a.ranks); },
    .build = build,
};

}  // namespace weft::algorithm
