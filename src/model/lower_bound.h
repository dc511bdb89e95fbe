// A time that no algorithm for a collective beats in LogGP.
#pragma once

#include <optional>

#include "algorithm/family.h"
#include "model/loggp.h"

namespace weft::model {

// How long it takes until all ranks know one item of a byte, if each passes it on as soon and as often as it
// can. The other way round, until one rank knows something of all others. In ps.
//
// Richard Karp, Abhijit Sahay, Eunice Santos, Klaus Schauser: Optimal Broadcast and Summation in the LogP
// Model, 1993
std::int64_t least_time_to_all(const LogGpParameters& parameters, Rank ranks);

// The largest of the times that the items, the bytes through one network interface and the combining need.
// It holds where every rank has one CPU, which handles all messages, and one interface; not on a torus or for
// offloaded messages. In ps. Nothing: blocks differ, or the collective is among neighbors.
//
// Bytes: Ernie Chan, Marcel Heimlich, Avi Purkayastha, Robert van de Geijn: Collective communication:
// theory, practice, and experience, 2007, doi:10.1002/cpe.1206; of allreduce: Pitch Patarasuk, Xin Yuan:
// Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009, doi:10.1016/j.jpdc.2008.09.002
std::optional<std::int64_t> lower_bound(const algorithm::Agreed& agreed,
                                        const LogGpParameters& parameters);

}  // namespace weft::model
