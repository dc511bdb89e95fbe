// A readable form of a schedule.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace weft {

// One line per operation. A repeat is a block that shows its first iteration:
//
//   0  copy    send[0..64) -> recv[128..192)
//   1  send    send[0..64) -> rank 1            after 0
//
// The operations named after "after" must complete first. The messages of a lane are issued in the
// order of their lines.
std::string to_text(const Schedule& schedule);

// One operation, one region: "recv    recv[0..64) <- rank 1", "recv[0..64)".
std::string to_text(const Op& op);
std::string to_text(Region region);

}  // namespace weft
