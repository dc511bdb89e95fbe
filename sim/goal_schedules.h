// Programs in GOAL as schedules, for the LogGP machine.
#pragma once

#include <vector>

#include "schedule/schedule.h"
#include "sim/goal.h"

namespace weft::simulate {

// A calculation of n ns becomes a copy of n bytes; one of 0 ns a join, which needs no CPU. Messages of a lane keep their
// order: a later one does not overtake an earlier one that still waits for something. Refuses, with a sentence that names the line, what
// schedules do not have: irequires, several CPUs or NICs, receives from any rank, messages to oneself, and messages
// between two ranks that are received in another order, by their tags, or with another size than they are sent.
Result<std::vector<Schedule>> schedules_of(const GoalProgram& program);

}  // namespace weft::simulate
