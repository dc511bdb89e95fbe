// Communicators of ranks of the job that have an out-of-band exchange.
#pragma once

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// Makes the communicator of a group, all of whose processes are members of a job. Collective over
// the group; blocks. The engine must not be held.
Result<Communicator*> adopt(Process& process, const weft_oob& oob);

// Makes the communicator of the group with which this process has just joined the job (join_job()):
// its ranks know all about it. Does not block. The engine must not be held.
Result<Communicator*> adopt_job(Process& process);

}  // namespace weft
