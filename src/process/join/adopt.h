// Communicators of processes that have an out-of-band exchange, all of which are ranks of the job.
#pragma once

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// What the ranks of such a group must know of each other first.
enum class Membership : std::int32_t { none = 0, member = 1, left = 2 };

// Whether every process of the group has this membership. Refused on all when they differ, or when none
// of them can have a communicator any more. Collective and blocking.
Status agree_on_membership(const weft_oob& oob, Membership mine);

// The communicator, with the ranks of the group. Collective over the group, and blocking; the engine must
// not be held.
Result<Communicator*> adopt(Process& process, const weft_oob& oob);

}  // namespace weft
