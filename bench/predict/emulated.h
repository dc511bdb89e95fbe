// The emulated cluster as the simulator knows it: the links that `weft run` makes, and ranks that share cores. All of it
// follows from the options of the cluster and from measured parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/scenario/cell.h"
#include "model/measured.h"
#include "sim/surroundings.h"

namespace weft::bench {

// Of a link: how long a byte of a message takes. 0: the rate is no rate.
std::int64_t link_byte_ps(const std::string& rate);

// What a full token bucket lets through of messages.
std::int64_t link_burst_bytes();

// How long a link has to rest until its bucket is full.
std::int64_t link_rest_ns(const std::string& rate);

// Refuses clusters that the simulator does not have.
Status check_emulated(const Cell& place);

// How many cores the ranks share, of which rank r has number r modulo that; 0: each has its own, or may use several.
// Nothing: they are shared in another way. `core_of` has each rank's core, -1: it may use several.
std::optional<Rank> shared_cores(std::span<const int> core_of);

// Without a cluster, nothing. Parameters within a node are to be added.
std::optional<simulate::NodesParameters> emulated(const Cell& place, Rank cores);

// What a message to a rank that shares its core takes longer than one to a rank that has its own.
std::int64_t switch_ps(const model::MeasuredParameters& shared,
                       const model::MeasuredParameters& own);

}  // namespace weft::bench
