#include "algorithm/algorithm.h"

#include "shape/power.h"

namespace weft::algorithm {

std::string Algorithm::unmet_need(const GlobalArgs& agreed) const {
    const auto radix = tunes == Tunes::ports ? agreed.tuning.radix() : 2;
    if (needs.ranks_are_a_power_of_ports_plus_1 && !is_power_of(radix, agreed.ranks)) {
        return "a number of ranks that is a power of " + std::to_string(radix) +
               "; this call has " + std::to_string(agreed.ranks);
    }
    if (agreed.reproducible && reproducible == Reproducible::never) {
        return "operands that may be combined in any order; this call is reproducible";
    }
    if (agreed.reproducible && reproducible == Reproducible::powers_of_two &&
        !is_power_of_two(agreed.ranks)) {
        return "a number of ranks that is a power of 2 to be reproducible; this call has " +
               std::to_string(agreed.ranks);
    }
    if (needs.torus && !agreed.torus) {
        return "a torus (WEFT_TOPOLOGY) of the communicator's ranks, in this order; this call has "
               "none";
    }
    if (needs.commutative && !agreed.commutative) {
        return "an operation that commutes; this call's does not";
    }
    if (agreed.tuning.inner && follows_inner()) {
        GlobalArgs among_leaders = agreed;
        among_leaders.ranks = leaders(agreed);
        among_leaders.topology = nullptr;
        among_leaders.tuning = {};
        among_leaders.tuning.ports = agreed.tuning.ports;
        const std::string lacks = agreed.tuning.inner->unmet_need(among_leaders);
        if (!lacks.empty()) return "among leaders " + lacks;
    }
    return "";
}

std::string Algorithm::needs_in_words() const {
    std::string words;
    if (needs.torus) words = "a torus (WEFT_TOPOLOGY)";
    if (needs.ranks_are_a_power_of_ports_plus_1) {
        words = "a number of ranks that is a power of ";
        words += tunes == Tunes::ports ? "ports + 1" : "2";
    }
    if (needs.commutative) {
        if (!words.empty()) words += ", and ";
        words += "an operation that commutes";
    }
    return words;
}

Result<Schedule> build_rank(const Algorithm& algorithm, const Problem& problem) {
    ScheduleBuilder builder(problem.rank, problem.ranks());
    algorithm.build(problem, builder);
    return builder.seal();
}

Result<std::vector<Schedule>> build_all(const Algorithm& algorithm,
                                        std::span<const Problem> problems) {
    std::vector<Schedule> schedules;
    for (const Problem& problem : problems) {
        Result<Schedule> schedule = build_rank(algorithm, problem);
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    return schedules;
}

}  // namespace weft::algorithm
