// Measures broadcast of bytes from rank 0.
#include <cstring>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

constexpr int root = 0;

void fill(Case& c, std::uint64_t seed) {
    fill_pattern(c.expected.as<std::uint8_t>(), root, seed);
    if (c.job.rank == root) {
        std::memcpy(c.recv.data(), c.expected.data(), c.bytes);
    } else {
        fill_blank(c.recv);
    }
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->bcast, request, c.recv.data(), c.bytes, WEFT_BYTE, root, c.job.comm);
}

}  // namespace

extern const Collective ibcast = {
    .name = "ibcast",
    .has_size = true,
    .send_bytes = nothing,
    .recv_bytes = one_block,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true},
};

}  // namespace weft::bench
