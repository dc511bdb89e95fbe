// Joins the job: exchanges cards with the other ranks, compares settings, connects the transports.
// And communicators of ranks of the job that have an out-of-band exchange (adopt.cpp).
#pragma once

#include <memory>

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// Joins the job that the environment describes. Collective over the job.
Result<std::unique_ptr<Process>> join_job();

// Joins the job that is the group of `oob`. Collective over the group.
Result<std::unique_ptr<Process>> join_job(const weft_oob& oob);

// Makes the communicator of a group, all of whose processes are members of a job. Collective over
// the group; blocks. The engine must not be held.
Result<Communicator*> adopt(Process& process, const weft_oob& oob);

// Makes the communicator of the group with which this process has just joined the job (join_job()):
// its ranks know all about it. Does not block. The engine must not be held.
Result<Communicator*> adopt_job(Process& process);

}  // namespace weft
