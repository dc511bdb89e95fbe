// The collectives that the bench measures, one line each.
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {

extern const Collective ibarrier;
extern const Collective ibcast;
extern const Collective iallgather;
extern const Collective iallreduce;
extern const Collective igather;
extern const Collective iscatter;
extern const Collective ialltoall;
extern const Collective ireduce;
extern const Collective ireduce_scatter_block;
extern const Collective iallgatherv;
extern const Collective ireduce_scatter;
extern const Collective iscan;
extern const Collective iexscan;
extern const Collective igatherv;
extern const Collective iscatterv;
extern const Collective ialltoallv;
extern const Collective ialltoallw;
extern const Collective isend;

std::span<const Collective* const> collectives() {
    static constexpr std::array list = {
        &ibarrier,    &ibcast,          &iallgather,
        &iallreduce,  &igather,         &iscatter,
        &ialltoall,   &ireduce,         &ireduce_scatter_block,
        &iallgatherv, &ireduce_scatter, &iscan,
        &iexscan,     &igatherv,        &iscatterv,
        &ialltoallv,  &ialltoallw,      &isend,
    };
    return list;
}

}  // namespace weft::bench
