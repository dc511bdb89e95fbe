// A readable form of task lists.
#pragma once

#include <string>

#include "offload/offload.h"

namespace weft {

// A block for each list, a line for each task, then the operations of the rest, if any:
//
//   list 2, to rank 1
//       go
//       wait 0
//       send    recv[0..64)
//       enable 1
//   rest
//      0  await   list 2 report 0
std::string to_text(const Tasks& tasks);

}  // namespace weft
