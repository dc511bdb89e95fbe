// Alltoall all at once: alltoall's algorithm, for blocks that differ. Every rank posts all messages
// and lets the transport order them. Any number of ranks.
#include "algorithm/algorithm.h"

namespace weft::algorithm {

extern const Algorithm alltoall_flat;

extern const Algorithm alltoallv_flat = {
    .name = "flat",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.2",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = nullptr,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { return alltoall_flat.build(in, schedule); },
};

}  // namespace weft::algorithm
