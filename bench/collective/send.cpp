// Measures a message from rank 0 to rank 1, by the point-to-point calls of an MPI and of Weft. (For
// a build of Weft that has none: its broadcast of two ranks, which is one send and one receive.)
#include "bench/collective/collective.h"

namespace weft::bench {

extern const Collective ibcast;

namespace {

void fill(Case& c, std::uint64_t seed) {
    if (c.job.ranks != 2) fail("isend is measured between 2 ranks; this job has %d", c.job.ranks);
    ibcast.fill(c, seed);
}

weft_status start(Case& c, weft_request* request) {
    const Api& api = *c.job.api;
    if (api.isend == nullptr) return ibcast.start(c, request);
    constexpr int tag = 0;
    void* const data = c.recv.data();
    const weft_comm comm = c.job.comm;
    const bool sends = c.job.rank == 0;
    if (c.form == CallForm::persistent)
        return sends ? api.send_init(data, c.bytes, WEFT_BYTE, 1, tag, comm, request)
                     : api.recv_init(data, c.bytes, WEFT_BYTE, 0, tag, comm, request);
    weft_request own = WEFT_REQUEST_NULL;
    weft_request* const made = c.form == CallForm::blocking ? &own : request;
    const weft_status started = sends ? api.isend(data, c.bytes, WEFT_BYTE, 1, tag, comm, made)
                                      : api.irecv(data, c.bytes, WEFT_BYTE, 0, tag, comm, made);
    return started == WEFT_OK && made == &own ? api.wait(&own) : started;
}

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
