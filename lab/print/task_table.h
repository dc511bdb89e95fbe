// Task lists of several ranks side by side, as the CORE-Direct paper prints them.
#pragma once

#include <span>
#include <string>

#include "lab/measure.h"
#include "offload/offload.h"

namespace weft {

// A row for each step of the timetable, a column for each rank:
//
//   Rank    0                        1
//   Step 0  recv from 1              recv from 0
//           send to 1                send to 0
//           wait (1 recv CQ) from 1  wait (1 recv CQ) from 0
//
// A wait is listed in the step of its message. Computation in between is not shown. (Inozemtsev,
// Afsahi: Designing an Offloaded Nonblocking MPI_Allgather Collective Using CORE-Direct, IEEE
// CLUSTER 2012, tables I and II. There an eager message is one task per buffer, and the CTS that a
// rank sends itself is left out.)
std::string task_table(std::span<const Tasks> ranks, const Timetable& times);

}  // namespace weft
