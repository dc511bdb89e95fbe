// One call of a collective in the simulator, in whatever surroundings.
#pragma once

#include <optional>
#include <vector>

#include "algorithm/catalogue.h"
#include "lab/round_time.h"
#include "sim/loggp.h"
#include "sim/profile.h"
#include "sim/report.h"

namespace weft::simulate {

// Surroundings belong to whoever makes the call.
struct SimulatedCall {
    const algorithm::CollectiveSpec* spec = nullptr;
    const algorithm::Algorithm* algorithm = nullptr;
    algorithm::GlobalArgs agreed = {};
    LogGpParameters parameters = {};
    MessageEnds ends = {};
    Progress progress = {};
    Disturbance disturbance = {};
    const TorusParameters* torus = nullptr;
    const NodesParameters* nodes = nullptr;
};

// Of a collective that is not among neighbors and has blocks of one size.
SimulatedCall call_of(const char* collective, const char* algorithm, Rank ranks,
                      std::int64_t bytes);

// REQUIRES: the call meets the algorithm's needs.
std::vector<Schedule> schedules_of(const SimulatedCall& call);
LogGpOutcome outcome_of(const SimulatedCall& call);
// When the last rank ends.
std::int64_t time_of(const SimulatedCall& call);

// Which no algorithm beats.
std::int64_t bound_of(const SimulatedCall& call);

// Of rounds on a torus with a rank at each node.
RoundCosts round_costs(const LogGpParameters& parameters, const MessageEnds& ends,
                       const TorusParameters& torus);

// NBCBench's measure: each rank computes for as long as the collective takes alone. How much of that is hidden.
struct Overlap {
    std::int64_t alone_ps;
    std::int64_t together_ps;
    double share() const { return share_hidden(alone_ps, alone_ps, together_ps); }
};
// `looks`: how often a host looks while it computes; 0: never.
Overlap overlap_of(const SimulatedCall& call, Progress progress, std::int64_t alone_ps,
                   std::int64_t looks);

}  // namespace weft::simulate
