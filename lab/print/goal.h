// Schedules in GOAL, the language that LogGOPSim simulates (its txt2bin reads this text).
#pragma once

#include <span>
#include <string>

#include "schedule/schedule.h"

namespace weft {

// `schedules[r]` is rank r's. Repeats are written out. A message's tag is its number on its lane,
// so that it meets the right receive whatever the order of arrival. Local operations cost nothing:
// sizes and dependencies come from the schedule, times from the simulator.
std::string to_goal(std::span<const Schedule> schedules);

}  // namespace weft
