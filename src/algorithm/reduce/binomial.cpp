// Reduction along a binomial tree. Any number of ranks, any root. For operations that do not
// commute the tree starts from rank 0, which keeps operands in rank order; rank 0 then sends the
// result to the root.
#include "algorithm/algorithm.h"
#include "algorithm/trees.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Rank top = in.agreed.commutative ? in.root() : 0;
    const Tree tree = binomial_tree(in.rank, in.ranks(), top);
    if (top == in.root()) {
        reduce_along(tree, in.send.block(), in.recv.block(), schedule);
        return ok;
    }
    const Region sum = in.rank == top ? schedule.scratch(in.agreed.bytes) : Region{};
    const OpId reduced = reduce_along(tree, in.send.block(), sum, schedule);
    if (in.rank == top) schedule.send(sum, in.root(), {reduced});
    if (in.rank == in.root()) schedule.recv(in.recv.block(), top, {in.in_place ? reduced : no_op});
    return ok;
}

}  // namespace

extern const Algorithm reduce_binomial = {
    .name = "binomial",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .rounds = [](const Agreed& a) -> std::int64_t {
        return ceil_log2(a.ranks) + (!a.commutative && a.root != 0 ? 1 : 0);
    },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
