#include "algorithm/algorithm.h"

#include "shape/power.h"

namespace weft::algorithm {
namespace {

// This rank's contribution; in place it lies in the receive buffer.
Region own(const Problem& p, bool in_place, std::int64_t offset_in_place) {
    if (in_place) return {Buffer::recv, offset_in_place, p.bytes};
    return {Buffer::send, 0, p.bytes};
}

bool in_place_at_root(const Problem& p) { return p.in_place && p.rank == p.root; }

}  // namespace

BarrierArgs BarrierArgs::of(const Problem& p) { return {p.rank, p.ranks}; }

BcastArgs BcastArgs::of(const Problem& p) {
    return {p.rank, p.ranks, p.root, {Buffer::recv, 0, p.bytes}, p.element_bytes, p.tuning};
}

GatherArgs GatherArgs::of(const Problem& p) {
    const bool in_place = in_place_at_root(p);
    const Region all = {Buffer::recv, 0, p.ranks * p.bytes};
    return {p.rank, p.ranks, p.root, own(p, in_place, p.rank * p.bytes), all, in_place};
}

ScatterArgs ScatterArgs::of(const Problem& p) {
    const bool in_place = in_place_at_root(p);
    const Region all = {Buffer::send, 0, p.ranks * p.bytes};
    Region mine = {Buffer::recv, 0, p.bytes};
    if (in_place) mine = all.part(p.rank * p.bytes, p.bytes);
    return {p.rank, p.ranks, p.root, all, mine, in_place};
}

AllgatherArgs AllgatherArgs::of(const Problem& p) {
    const Region all = {Buffer::recv, 0, p.ranks * p.bytes};
    return {p.rank, p.ranks, own(p, p.in_place, p.rank * p.bytes), all, p.in_place, p.tuning};
}

AlltoallArgs AlltoallArgs::of(const Problem& p) {
    const Region into = {Buffer::recv, 0, p.ranks * p.bytes};
    Region from = into;
    if (!p.in_place) from.buffer = Buffer::send;
    return {p.rank, p.ranks, from, into, p.bytes, p.in_place};
}

ReduceArgs ReduceArgs::of(const Problem& p) {
    const bool in_place = in_place_at_root(p);
    const Region into = {Buffer::recv, 0, p.bytes};
    return {p.rank, p.ranks, p.root, own(p, in_place, 0), into, in_place, p.commutative};
}

AllreduceArgs AllreduceArgs::of(const Problem& p) {
    const Region into = {Buffer::recv, 0, p.bytes};
    return {p.rank, p.ranks, own(p, p.in_place, 0), into, p.in_place, p.element_bytes};
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
