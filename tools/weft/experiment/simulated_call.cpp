#include "weft/experiment/simulated_call.h"

#include <algorithm>

#include "sim/lower_bound.h"

namespace weft::simulate {

SimulatedCall call_of(const char* collective, const char* algorithm, Rank ranks,
                      std::int64_t bytes) {
    SimulatedCall call;
    call.spec = algorithm::find_spec(collective);
    WEFT_ASSERT(call.spec);
    call.algorithm = call.spec->find(algorithm);
    WEFT_ASSERT(call.algorithm);
    call.agreed.collective = call.spec->collective;
    call.agreed.ranks = ranks;
    call.agreed.bytes = bytes;
    return call;
}

namespace {

// One schedule at a time: of 2^20 ranks they would not fit into memory.
template <class Use>
void for_schedules(const SimulatedCall& call, Use use) {
    for (Rank r = 0; r < call.agreed.ranks; ++r) {
        Result<Schedule> schedule =
            build_rank(*call.algorithm, call.spec->problem(call.agreed, r, /*in_place=*/false));
        WEFT_ASSERT(schedule.is_ok());
        use(std::move(*schedule));
    }
}

}  // namespace

std::vector<Schedule> schedules_of(const SimulatedCall& call) {
    std::vector<Schedule> schedules;
    for_schedules(call, [&](Schedule schedule) { schedules.push_back(std::move(schedule)); });
    return schedules;
}

LogGpOutcome outcome_of(const SimulatedCall& call) {
    LogGpMachine machine(call.parameters, call.disturbance, call.torus);
    if (call.nodes) machine.set_nodes(*call.nodes);
    machine.set_ends(call.ends);
    machine.set_progress(call.progress);
    for_schedules(call, [&](const Schedule& schedule) { machine.add(schedule); });
    Result<LogGpOutcome> outcome = machine.run();
    WEFT_ASSERT(outcome.is_ok());
    return std::move(*outcome);
}

std::int64_t time_of(const SimulatedCall& call) {
    return std::ranges::max(outcome_of(call).end_ps);
}

std::int64_t bound_of(const SimulatedCall& call) {
    const std::optional<std::int64_t> bound_ps = lower_bound(
        call.agreed, {call.parameters, call.ends, call.progress, call.torus, call.nodes});
    WEFT_ASSERT(bound_ps);
    return *bound_ps;
}

RoundCosts round_costs(const LogGpParameters& p, const MessageEnds& ends,
                       const TorusParameters& torus) {
    RoundCosts costs;
    costs.message_ps = p.overhead_ps + p.latency_ps + ends.recv_overhead_ps.value_or(p.overhead_ps);
    costs.cpu_byte_ps = (ends.cpu_sends ? 0 : p.byte_overhead_ps) +
                        ends.recv_byte_overhead_ps.value_or(p.byte_overhead_ps);
    costs.interface_byte_ps = p.byte_gap_ps;
    costs.link_byte_ps = torus.link_byte_ps;
    costs.hop_ps = torus.hop_ps;
    costs.reduction_byte_ps = p.byte_reduction_ps;
    costs.eager_bytes_max = p.eager_bytes_max;
    costs.asking_ps = 2 * (p.overhead_ps + p.latency_ps);
    return costs;
}

Overlap overlap_of(const SimulatedCall& call, Progress progress, std::int64_t alone_ps,
                   std::int64_t looks) {
    SimulatedCall beside = call;
    progress.compute_ps = alone_ps;
    if (looks > 0) progress.poll_ps = std::max<std::int64_t>(alone_ps / looks, 1);
    beside.progress = progress;
    return {alone_ps, time_of(beside)};
}

}  // namespace weft::simulate
