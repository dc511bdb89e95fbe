// Schedules in GOAL, the language that LogGOPSim simulates (its txt2bin reads this text).
#pragma once

#include <span>
#include <string>

#include "schedule/schedule.h"

namespace weft {

// All ranks' schedules; `schedules[r]` is rank r's. Repeats are written out. A message's tag is its
// number on its lane, so that any order of arrival meets the right receive. What is computed
// locally costs nothing: sizes and dependencies are the schedule's, times are the simulator's.
std::string to_goal(std::span<const Schedule> schedules);

}  // namespace weft
