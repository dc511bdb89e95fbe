// The collectives that the bench measures: all but those among neighbors, and messages.
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {

#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root)
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) extern const Collective i##name;
#include "algorithm/collectives.def"
#undef COLLECTIVE
extern const Collective isend;
extern const Collective iexchange;

std::span<const Collective* const> collectives() {
    static constexpr std::array list = {
#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root)
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) &i##name,
#include "algorithm/collectives.def"
#undef COLLECTIVE
        &isend, &iexchange};
    return list;
}

}  // namespace weft::bench
