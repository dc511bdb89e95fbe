// Joining the job: swap cards with the other ranks, agree on the settings, connect the transports.
#pragma once

#include <memory>

#include "communicator/process.h"

namespace weft {

// The process this environment describes. Collective over the job.
Result<std::unique_ptr<Process>> join_job();

}  // namespace weft
