// Joins the job: exchanges cards with the other ranks, compares settings, connects the transports.
#pragma once

#include <memory>

#include "process/process.h"
#include "weft/oob.h"

namespace weft {

// Joins the job that the environment describes. Collective over the job.
Result<std::unique_ptr<Process>> join_job();

// Joins the job that is the group of `oob`. Collective over the group.
Result<std::unique_ptr<Process>> join_job(const weft_oob& oob);

}  // namespace weft
