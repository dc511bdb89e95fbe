// Alltoall by exchange among pairs: alltoall's algorithm, for blocks that differ. In each step the
// two ranks of a pair send each other a block; if the number of ranks is odd, one is idle. Any
// number of ranks.
#include "algorithm/algorithm.h"
#include "shape/pairing.h"

namespace weft::algorithm {

extern const Algorithm alltoall_pairwise;

extern const Algorithm alltoallv_pairwise = {
    .name = "pairwise",
    .source =
        "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
        "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.2",
    .rounds = [](const Agreed& a) -> std::int64_t { return pairing_steps(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = nullptr,
    .build = [](const Problem& in,
                ScheduleBuilder& schedule) { return alltoall_pairwise.build(in, schedule); },
};

}  // namespace weft::algorithm
