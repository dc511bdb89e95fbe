// Measures a message from rank 0 to rank 1: an MPI's point-to-point calls, and Weft's broadcast of
// two ranks, which is one send and one receive.
#include "bench/collective/collective.h"

namespace weft::bench {

extern const Collective ibcast;

namespace {

void fill(Case& c, std::uint64_t seed) {
    if (c.job.ranks != 2) fail("isend is measured between 2 ranks; this job has %d", c.job.ranks);
    ibcast.fill(c, seed);
}

weft_status start(Case& c, weft_request* request) { return ibcast.start(c, request); }

}  // namespace

extern const Collective isend = {
    .name = "isend",
    .has_size = true,
    .send_bytes = nothing,
    .recv_bytes = one_block,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true},
};

}  // namespace weft::bench
