// Networks of which figures are published, as parameters of the simulator.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/surroundings.h"

namespace weft::simulate {

struct NetworkProfile {
    const char* name;
    const char* meaning;
    LogGpParameters parameters;
    MessageEnds ends;
    std::int64_t hop_ps;
    bool is_switched = false;              // its links are no torus's
    std::span<const char* const> sources;  // of each figure, or that it is assumed
};

std::span<const NetworkProfile> profiles();
// Null: there is none of this name.
const NetworkProfile* find_profile(std::string_view name);

}  // namespace weft::simulate
