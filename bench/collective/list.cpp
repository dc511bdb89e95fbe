// The collectives that the bench measures, one line each.
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {

extern const Collective ibarrier;
extern const Collective ibcast;
extern const Collective iallgather;
extern const Collective iallreduce;

std::span<const Collective* const> collectives() {
    static constexpr std::array list = {
        &ibarrier,
        &ibcast,
        &iallgather,
        &iallreduce,
    };
    return list;
}

}  // namespace weft::bench
