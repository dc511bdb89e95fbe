// Communicators of ranks of the job that have an out-of-band exchange.
#pragma once

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// Whether a process is, or was, a rank of a job.
enum class Membership : std::int32_t { none = 0, member = 1, left = 2 };

// Refuses on all processes of the group if they differ in membership, or if one has left its job.
// Collective; blocks.
Status agree_on_membership(const weft_oob& oob, Membership mine);

// Makes the group's communicator. Collective over the group; blocks. The engine must not be held.
Result<Communicator*> adopt(Process& process, const weft_oob& oob);

}  // namespace weft
