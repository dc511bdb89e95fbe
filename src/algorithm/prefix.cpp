#include "algorithm/prefix.h"

#include <utility>

namespace weft::algorithm {

// In step k a rank sends what it has, the combination of up to 2^k operands that end with its own, to
// the rank 2^k above it, and puts what it gets from the one 2^k below it before that.
OpId prefix_by_doubling(const Problem& in, Rank first, Region sum, OpId ready,
                        ScheduleBuilder& schedule) {
    const Rank position = in.rank - first;
    // Operands land in two buffers in turn, so that a receive waits for the last reduction but one.
    Region operand = position > 0 ? schedule.scratch(sum.bytes) : Region{};
    Region other_operand = position > 1 ? schedule.scratch(sum.bytes) : operand;
    OpId free = no_op;
    OpId other_free = no_op;
    for (std::int64_t step = 1; first + step < in.ranks(); step *= 2) {
        const auto distance = static_cast<Rank>(step);
        OpId sent = no_op;
        if (step < in.ranks() - in.rank) sent = schedule.send(sum, in.rank + distance, {ready});
        if (position < step) continue;
        const OpId arrived = schedule.recv(operand, in.rank - distance, {free});
        ready = schedule.reduce(operand, sum, {ready, arrived, sent});
        free = std::exchange(other_free, ready);
        std::swap(operand, other_operand);
    }
    return ready;
}

}  // namespace weft::algorithm
