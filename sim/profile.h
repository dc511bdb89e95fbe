// Networks of which figures are published, as parameters of the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "model/loggp.h"

namespace weft::simulate {

// Where the two ends of a message between nodes do not do the same.
struct MessageEnds {
    // Instead of o and O.
    std::optional<std::int64_t> recv_overhead_ps;
    std::optional<std::int64_t> recv_byte_overhead_ps;
    // The sender's CPU stores every byte into the network: the first leaves after o, and the CPU is busy until
    // the last has left. Only without a card that handles messages (Progress).
    bool cpu_sends = false;
    // The receiver's CPU takes bytes as they come: after the last one it is busy for o, unless it came to them late.
    // Not on a torus.
    bool cpu_receives_along = false;
};

struct NetworkProfile {
    const char* name;
    const char* meaning;
    model::LogGpParameters parameters;
    MessageEnds ends;
    std::int64_t hop_ps;
    std::span<const char* const> sources;  // of each figure, or that it is assumed
};

std::span<const NetworkProfile> profiles();
// Null: there is none of this name.
const NetworkProfile* find_profile(std::string_view name);

}  // namespace weft::simulate
