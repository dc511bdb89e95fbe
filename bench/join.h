// Joins the job that is measured: Weft's, or that of an MPI to compare with.
#pragma once

#include "bench/job.h"

namespace weft::bench {

// Fails unless the job has this many ranks: another launcher may start a different number than the
// options say.
Job join_job(int ranks);
void leave_job();

}  // namespace weft::bench
