// Measuring the allgather; a size is the block of one rank.
#include <cstring>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

std::size_t recv_bytes(std::size_t bytes, int ranks) {
    return bytes * static_cast<std::size_t>(ranks);
}

void fill(Case& c, std::uint64_t seed) {
    const auto expected = c.expected.as<std::uint8_t>();
    for (int rank = 0; rank < c.job.ranks; ++rank) {
        fill_pattern(expected.subspan(static_cast<std::size_t>(rank) * c.bytes, c.bytes), rank,
                     seed);
    }
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
    std::memset(c.recv.data(), 0xff, c.recv.size());
}

weft_status start(Case& c, weft_request* request) {
    return weft_iallgather(c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE, c.job.comm, request);
}

}  // namespace

extern const Collective iallgather = {
    .name = "iallgather",
    .has_size = true,
    .recv_bytes = recv_bytes,
    .fill = fill,
    .start = start,
};

}  // namespace weft::bench
