// Allreduce by recursive doubling, with the whole vector in every message: in round k partners at
// distance 2^k exchange their partial results, and both combine the two. Few rounds, but much data:
// for small vectors. Any number of ranks, also for operations that do not commute.
//
// Partners combine the lower ranks' operand with the higher ranks', in this order: operands stay in
// rank order, and all ranks get the same bits.
#include "algorithm/allreduce/butterfly.h"

namespace weft::algorithm {

extern const Algorithm allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .source =
        "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
        "MPICH, 2005, doi:10.1177/1094342005051521",
    .reproducible = Reproducible::powers_of_two,
    .rounds = WholeExchange::rounds,
    .sent_messages_max = WholeExchange::sent_messages_max,
    .sent_bytes_max = WholeExchange::sent_bytes_max,
    .build =
        [](const Problem& in, ScheduleBuilder& schedule) {
            return WholeExchange::build(in, hypercube, schedule);
        },
};

}  // namespace weft::algorithm
