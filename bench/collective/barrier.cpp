// Measuring the barrier: no data, so nothing to expect but completion.
#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

std::size_t recv_bytes(std::size_t, int) { return 0; }

void fill(Case&, std::uint64_t) {}

weft_status start(Case& c, weft_request* request) { return weft_ibarrier(c.job.comm, request); }

}  // namespace

extern const Collective ibarrier = {
    .name = "ibarrier",
    .has_size = false,
    .recv_bytes = recv_bytes,
    .fill = fill,
    .start = start,
};

}  // namespace weft::bench
