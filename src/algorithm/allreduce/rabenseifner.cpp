// Allreduce by recursive halving and doubling: partners exchange halves of the vector and combine them, until every
// rank has the result of its part; then they exchange the parts in the opposite order. Any number of ranks, also for
// operations that do not commute.
//
// The nearest ranks are partners first, so that operands stay in rank order.
#include "algorithm/allreduce/butterfly.h"

namespace weft::algorithm {

extern const Algorithm allreduce_rabenseifner = {
    .name = "rabenseifner",
    .source =
        "Rabenseifner: Optimization of Collective Reduction Operations, 2004, "
        "doi:10.1007/978-3-540-24685-5_1",
    .reproducible = Reproducible::powers_of_two,
    .rounds = HalvesExchange::rounds,
    .sent_messages_max = HalvesExchange::sent_messages_max,
    .sent_bytes_max = HalvesExchange::sent_bytes_max,
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            return HalvesExchange::build(in, hypercube, schedule);
        },
};

}  // namespace weft::algorithm
