// Joining the job: swap cards with the other ranks, agree on the settings, connect the transports.
#pragma once

#include <memory>

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// The process this environment describes. Collective over the job.
Result<std::unique_ptr<Process>> join_job();

// The process of a job that is the group of `oob`. Collective over it.
Result<std::unique_ptr<Process>> join_job(const weft_oob& oob);

}  // namespace weft
