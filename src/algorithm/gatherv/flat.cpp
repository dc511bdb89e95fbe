// Gather straight to the root: gather's algorithm, for blocks that differ. All ranks send at once,
// and only the root must know other sizes than its own. Any number of ranks, any root.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm gather_flat;

extern const Algorithm gatherv_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = nullptr,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { return gather_flat.build(in, schedule); },
};

}  // namespace weft::algorithm
