#include "bench/join.h"

#include "bench/engines.h"
#include "bench/player/mpi.h"

namespace weft::bench {

Job join_job(int ranks) {
    Job job;
    // If an MPI is measured, it brings the ranks together.
    if (Mpi::of_this_job() == nullptr) {
        prefer_no_engine();
        must(weft_init(), "weft_init");
    }
    job.comm = weft_comm_world();
    must(weft_comm_rank(job.comm, &job.rank), "weft_comm_rank");
    must(weft_comm_size(job.comm, &job.ranks), "weft_comm_size");
    if (job.ranks != ranks) fail("expected %d ranks; this job has %d", ranks, job.ranks);
    return job;
}

void leave_job() {
    must(weft_barrier(weft_comm_world()), "weft_barrier");
    must(weft_finalize(), "weft_finalize");
    if (const Mpi* mpi = Mpi::of_this_job()) mpi->finalize();
}

}  // namespace weft::bench
