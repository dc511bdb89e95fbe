#include "bench/join.h"

#include <stdlib.h>

#include "bench/rivals/rival.h"

namespace weft::bench {

Job join_job(int ranks) {
    Job job;
    // Then a contestant's communicator has dedicated connections only if its own engine wants them.
    setenv("WEFT_ENGINE", "manual", /*overwrite=*/0);
    // If an MPI is measured, it has already brought the ranks together.
    if (Rival::of_this_job() == nullptr) must(weft_init(), "weft_init");
    job.comm = weft_comm_world();
    must(weft_comm_rank(job.comm, &job.rank), "weft_comm_rank");
    must(weft_comm_size(job.comm, &job.ranks), "weft_comm_size");
    if (job.ranks != ranks) fail("expected %d ranks; this job has %d", ranks, job.ranks);
    return job;
}

void leave_job() {
    must(weft_barrier(weft_comm_world()), "weft_barrier");
    must(weft_finalize(), "weft_finalize");
    if (const Rival* rival = Rival::of_this_job()) rival->finalize();
}

}  // namespace weft::bench
