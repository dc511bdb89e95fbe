// Measures messages between two ranks by the point-to-point calls of an MPI and of Weft: one from rank 0 to rank 1 (for a
// build of Weft that has none: its broadcast of two ranks, which is one send and one receive), and one each way at once
// (Weft's alltoallv without a block of the rank's own).
#include <array>

#include "bench/collective/collective.h"

namespace weft::bench {

extern const Collective ibcast;

namespace {

void check_ranks(const Case& c, const char* name) {
    if (c.job.ranks != 2)
        fail("%s is measured between 2 ranks; this job has %d", name, c.job.ranks);
}

void fill_one_way(Case& c, std::uint64_t seed) {
    check_ranks(c, "isend");
    ibcast.fill(c, seed);
}

weft_status start_one_way(Case& c, weft_request* request) {
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

void fill_exchange(Case& c, std::uint64_t seed) {
    check_ranks(c, "iexchange");
    fill_blank(c.recv);
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
    fill_pattern(c.expected.as<std::uint8_t>(), 1 - c.job.rank, seed);
}

weft_status start_exchange(Case& c, weft_request* request) {
    static std::array<std::size_t, 2> counts;
    counts = {c.bytes, c.bytes};
    counts[static_cast<std::size_t>(c.job.rank)] = 0;
    return issue(c, c.job.api->alltoallv, request, c.send.data(), counts.data(), nullptr,
                 c.recv.data(), counts.data(), nullptr, WEFT_BYTE, c.job.comm);
}

}  // namespace

extern const Collective isend = {
    .name = "isend",
    .has_size = true,
    .send_bytes = nothing,
    .recv_bytes = one_block,
    .fill = fill_one_way,
    .start = start_one_way,
    .plain = {.from_root = true},
    .ranks = 2,
};

extern const Collective iexchange = {
    .name = "iexchange",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = one_block,
    .fill = fill_exchange,
    .start = start_exchange,
    .plain = {.from_root = true, .to_root = true},
    .ranks = 2,
};

}  // namespace weft::bench
