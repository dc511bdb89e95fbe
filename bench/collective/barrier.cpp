// Measures barrier. There is no data: only completion is expected.
#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

void fill(Case&, std::uint64_t) {}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->barrier, request, c.job.comm);
}

}  // namespace

extern const Collective ibarrier = {
    .name = "ibarrier",
    .has_size = false,
    .send_bytes = nothing,
    .recv_bytes = nothing,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true, .to_root = true},
};

}  // namespace weft::bench
