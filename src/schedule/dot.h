// Schedules as a picture: the language of Graphviz.
#pragma once

#include <span>
#include <string>

#include "schedule/schedule.h"

namespace weft {

// One cluster per rank; a repeat is a box that shows its first iteration, an edge to a later
// iteration is labelled with the distance. Dashed: the messages between the ranks that are shown,
// the k-th of a lane to the k-th.
std::string to_dot(std::span<const Schedule> schedules);

}  // namespace weft
