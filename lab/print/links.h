// How many messages are on the links of a torus, step by step.
#pragma once

#include <string>

#include "lab/measure.h"
#include "shape/torus.h"

namespace weft {

// Messages take the last dimension first (Torus::for_each_link). For each unit of the timetable:
// the number of messages, the most on a link, and a line per row of ranks with the loads of the
// links that leave them; x is the last dimension.
//
//   step 0: 8 messages, at most 1 on a link
//      0..3  x 1 . 1 .  y . . . .
//      4..7  x . 1 . 1  y . . . .
std::string link_table(const Torus& torus, const Timetable& times);

}  // namespace weft
