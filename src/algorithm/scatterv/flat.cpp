// Scatter straight from the root: scatter's algorithm, for blocks that differ. The root sends every
// rank its block, all at once. Any number of ranks, any root.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm scatter_flat;

extern const Algorithm scatterv_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = nullptr,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { return scatter_flat.build(in, schedule); },
};

}  // namespace weft::algorithm
