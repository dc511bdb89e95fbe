// Gather straight to the root, one rank after the other: gather's algorithm, for blocks that
// differ. The root asks each rank for its block with an empty message, so that blocks do not
// compete on the way. Any number of ranks, any root.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm gather_sequential;

extern const Algorithm gatherv_sequential = {
    .name = "sequential",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = nullptr,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { return gather_sequential.build(in, schedule); },
};

}  // namespace weft::algorithm
