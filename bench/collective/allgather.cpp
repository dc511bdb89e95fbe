// Measuring the allgather; a size is the block of one rank.
#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

void fill(Case& c, std::uint64_t seed) {
    const auto expected = c.expected.as<std::uint8_t>();
    for (int rank = 0; rank < c.job.ranks; ++rank) {
        fill_pattern(expected.subspan(static_cast<std::size_t>(rank) * c.bytes, c.bytes), rank,
                     seed);
    }
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
    fill_blank(c.recv);
}

weft_status start(Case& c, weft_request* request) {
    return weft_iallgather(c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE, c.job.comm, request);
}

}  // namespace

extern const Collective iallgather = {
    .name = "iallgather",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = all_blocks,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true, .to_root = true},
};

}  // namespace weft::bench
