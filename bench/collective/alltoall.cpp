// Measures alltoall, alltoallv and alltoallw of bytes, with blocks of one size. A size is the block from one rank to
// another.
#include <vector>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

// A number for each pair of ranks: every block is different.
int pair(const Case& c, int from, int to) { return from * c.job.ranks + to; }

void fill(Case& c, std::uint64_t seed) {
    fill_blank(c.recv);
    const auto send = c.send.as<std::uint8_t>();
    const auto expected = c.expected.as<std::uint8_t>();
    for (int rank = 0; rank < c.job.ranks; ++rank) {
        const std::size_t at = static_cast<std::size_t>(rank) * c.bytes;
        fill_pattern(send.subspan(at, c.bytes), pair(c, c.job.rank, rank), seed);
        fill_pattern(expected.subspan(at, c.bytes), pair(c, rank, c.job.rank), seed);
    }
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->alltoall, request, c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE,
                 c.job.comm);
}

weft_status start_counted(Case& c, weft_request* request) {
    const std::size_t* counts = equal_counts(c.job, c.bytes);
    return issue(c, c.job.api->alltoallv, request, c.send.data(), counts, nullptr, c.recv.data(),
                 counts, nullptr, WEFT_BYTE, c.job.comm);
}

weft_status start_typed(Case& c, weft_request* request) {
    static std::vector<weft_type> types;
    types.resize(static_cast<std::size_t>(c.job.ranks), WEFT_BYTE);
    const std::size_t* counts = equal_counts(c.job, c.bytes);
    return issue(c, c.job.api->alltoallw, request, c.send.data(), counts, nullptr, types.data(),
                 c.recv.data(), counts, nullptr, types.data(), c.job.comm);
}

}  // namespace

extern const Collective ialltoall = {
    .name = "ialltoall",
    .has_size = true,
    .send_bytes = all_blocks,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true, .to_root = true},
};

extern const Collective ialltoallv = {
    .name = "ialltoallv",
    .has_size = true,
    .send_bytes = all_blocks,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start_counted,
    .plain = {.from_root = true, .to_root = true},
};

extern const Collective ialltoallw = {
    .name = "ialltoallw",
    .has_size = true,
    .send_bytes = all_blocks,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start_typed,
    .plain = {.from_root = true, .to_root = true},
};

}  // namespace weft::bench
