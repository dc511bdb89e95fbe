// Task lists of several ranks side by side, as the CORE-Direct paper prints them.
#pragma once

#include <span>
#include <string>

#include "schedule/measure.h"
#include "schedule/tasks/tasks.h"

namespace weft {

// The steps of the timetable, a column for every rank:
//
//   Rank    0                        1
//   Step 0  recv from 1              recv from 0
//           send to 1                send to 0
//           wait (1 recv CQ) from 1  wait (1 recv CQ) from 0
//
// A message is waited for in its own step. The last ones are waited for at the end of the list. What
// ranks do with their data in between is not shown. (Inozemtsev, Afsahi: Designing an Offloaded
// Nonblocking MPI_Allgather Collective Using CORE-Direct, IEEE CLUSTER 2012, tables I and II; there
// an eager message is a task for each of its buffers, and the clear-to-send of the rank itself is
// left out.)
std::string task_table(std::span<const Tasks> ranks, const Timetable& times);

}  // namespace weft
