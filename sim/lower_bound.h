// Times that no algorithm for a collective beats in the LogGP machine, whether it cuts blocks or
// not.
//
// In ps. Nothing: blocks differ, or the collective is among neighbors.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithm/collective_spec.h"
#include "sim/surroundings.h"

namespace weft::simulate {

// The largest of the times that the items, the bytes through a node's link, an interface and a CPU,
// and the combining need.
//
// Bytes: Ernie Chan, Marcel Heimlich, Avi Purkayastha, Robert van de Geijn: Collective
// communication: theory, practice, and experience, 2007, doi:10.1002/cpe.1206; of allreduce: Pitch
// Patarasuk, Xin Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009,
// doi:10.1016/j.jpdc.2008.09.002
std::optional<std::int64_t> lower_bound(const algorithm::GlobalArgs& agreed,
                                        const Surroundings& surroundings);

// On a network without limits of its own, where each rank has one CPU and one interface.
inline std::optional<std::int64_t> lower_bound(const algorithm::GlobalArgs& agreed,
                                               const LogGpParameters& parameters) {
    return lower_bound(agreed, Surroundings{parameters, {}, {}});
}

}  // namespace weft::simulate
