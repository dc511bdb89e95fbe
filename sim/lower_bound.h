// Times that no algorithm beats in the LogGP machine, whatever surrounds the ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithm/family.h"
#include "sim/loggp.h"

namespace weft::simulate {

// What the machine is told beside schedules, but for disturbances and shared cores, which make nothing faster.
struct Surroundings {
    const LogGpParameters& parameters;
    const MessageEnds& ends;
    const Progress& progress;
    const TorusParameters* torus = nullptr;
    const NodesParameters* nodes = nullptr;
};

// Of any algorithm, also one that cuts blocks. Nothing: as model::lower_bound().
std::optional<std::int64_t> lower_bound(const algorithm::Agreed& agreed,
                                        const Surroundings& surroundings);

}  // namespace weft::simulate
