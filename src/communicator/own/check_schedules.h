// Ranks exchange the schedules that the program built, and check them together.
#pragma once

#include <span>
#include <vector>

#include "communicator/own/own_schedule.h"

namespace weft {

// The schedules of all ranks, by rank. Collective. Releases the engine meanwhile; another thread
// may free `own`. REQUIRES: sealed.
Result<std::vector<Schedule>> collect_schedules(const OwnSchedule& own);

// Refuses schedules with a flaw; the sentence names the operations. Needs no engine.
Status check_schedules(std::span<const Schedule> schedules);

}  // namespace weft
