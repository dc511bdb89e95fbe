// Measures gather of bytes to rank 0, and gatherv with blocks of one size. A size is one rank's block.
#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

constexpr int root = 0;

void fill(Case& c, std::uint64_t seed) {
    fill_blank(c.recv);
    fill_blank(c.expected);  // only the root receives anything
    const auto expected = c.expected.as<std::uint8_t>();
    for (int rank = 0; rank < c.job.ranks && c.job.rank == root; ++rank) {
        fill_pattern(expected.subspan(static_cast<std::size_t>(rank) * c.bytes, c.bytes), rank,
                     seed);
    }
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->gather, request, c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE,
                 root, c.job.comm);
}

weft_status start_counted(Case& c, weft_request* request) {
    const std::size_t* counts = equal_counts(c.job, c.bytes);
    return issue(c, c.job.api->gatherv, request, c.send.data(), c.bytes, c.recv.data(), counts,
                 nullptr, WEFT_BYTE, root, c.job.comm);
}

}  // namespace

extern const Collective igather = {
    .name = "igather",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start,
    .plain = {.to_root = true},
};

extern const Collective igatherv = {
    .name = "igatherv",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start_counted,
    .plain = {.to_root = true},
};

}  // namespace weft::bench
