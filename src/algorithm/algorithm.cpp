#include "algorithm/algorithm.h"

#include "shape/power.h"

namespace weft::algorithm {
namespace {

// This rank's contribution; in place it lies in the receive buffer.
Region own(const Problem& p, std::int64_t offset_in_place) {
    if (p.in_place) return {Buffer::recv, offset_in_place, p.bytes};
    return {Buffer::send, 0, p.bytes};
}

}  // namespace

BarrierArgs BarrierArgs::of(const Problem& p) { return {p.rank, p.ranks}; }

BcastArgs BcastArgs::of(const Problem& p) {
    return {p.rank, p.ranks, p.root, {Buffer::recv, 0, p.bytes}, p.element_bytes, p.tuning};
}

AllgatherArgs AllgatherArgs::of(const Problem& p) {
    const Region all = {Buffer::recv, 0, p.ranks * p.bytes};
    return {p.rank, p.ranks, own(p, p.rank * p.bytes), all, p.in_place, p.tuning};
}

AllreduceArgs AllreduceArgs::of(const Problem& p) {
    const Region into = {Buffer::recv, 0, p.bytes};
    return {p.rank, p.ranks, own(p, 0), into, p.in_place, p.element_bytes};
}

std::string Algorithm::unmet_need(const Size& size) const {
    const auto radix = static_cast<Rank>(size.tuning.ports) + 1;
    if (needs.ranks_are_a_power_of_ports_plus_1 && !is_power_of(radix, size.ranks)) {
        return "a number of ranks that is a power of " + std::to_string(radix) +
               "; this call has " + std::to_string(size.ranks);
    }
    if (needs.commutative && !size.commutative) {
        return "an operation that commutes; this call's does not";
    }
    return "";
}

Result<Schedule> build_rank(const Algorithm& algorithm, const Problem& problem) {
    ScheduleBuilder builder(problem.rank, problem.ranks);
    WEFT_RETURN_IF_NOT_OK(algorithm.build(problem, builder));
    return builder.seal();
}

Result<std::vector<Schedule>> build_all(const Algorithm& algorithm, Problem problem) {
    std::vector<Schedule> schedules;
    for (problem.rank = 0; problem.rank < problem.ranks; ++problem.rank) {
        Result<Schedule> schedule = build_rank(algorithm, problem);
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

}  // namespace weft::algorithm
