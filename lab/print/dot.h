// Schedules as graphs, in Graphviz's language.
#pragma once

#include <span>
#include <string>

#include "schedule/schedule.h"

namespace weft {

// One cluster per rank. A repeat is a box that shows its first iteration; an edge to a later
// iteration is labelled with the distance. Dashed edges are messages between the ranks shown.
std::string to_dot(std::span<const Schedule> schedules);

}  // namespace weft
