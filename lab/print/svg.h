// Schedules as drawings (SVG) of who sends to whom, and when.
#pragma once

#include <span>
#include <string>

#include "lab/measure.h"
#include "schedule/schedule.h"
#include "shape/topology.h"

namespace weft {

// `schedules[r]` is rank r's, `times` is their timetable. A line for each rank, with rank 0 on top, a column for
// each round, an arrow for each message, dashed if it is empty, and a dot where a rank has combined
// operands. Ranks of every second node are shaded. REQUIRES: no character of `title` is special in XML.
std::string to_svg(const std::string& title, std::span<const Schedule> schedules,
                   const Timetable& times, const Topology& nodes);

}  // namespace weft
