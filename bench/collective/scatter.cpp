// Measures scatter of bytes from rank 0, and scatterv with blocks of one size. A size is one rank's block.
#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

constexpr int root = 0;

void fill(Case& c, std::uint64_t seed) {
    fill_blank(c.recv);
    const auto send = c.send.as<std::uint8_t>();
    for (int rank = 0; rank < c.job.ranks && c.job.rank == root; ++rank) {
        fill_pattern(send.subspan(static_cast<std::size_t>(rank) * c.bytes, c.bytes), rank, seed);
    }
    fill_pattern(c.expected.as<std::uint8_t>(), c.job.rank, seed);
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->scatter, request, c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE,
                 root, c.job.comm);
}

weft_status start_counted(Case& c, weft_request* request) {
    const std::size_t* counts = equal_counts(c.job, c.bytes);
    return issue(c, c.job.api->scatterv, request, c.send.data(), counts, nullptr, c.recv.data(),
                 c.bytes, WEFT_BYTE, root, c.job.comm);
}

}  // namespace

extern const Collective iscatter = {
    .name = "iscatter",
    .has_size = true,
    .send_bytes = all_blocks,
    .recv_bytes = one_block,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true},
};

extern const Collective iscatterv = {
    .name = "iscatterv",
    .has_size = true,
    .send_bytes = all_blocks,
    .recv_bytes = one_block,
    .fill = fill,
    .start = start_counted,
    .plain = {.from_root = true},
};

}  // namespace weft::bench
