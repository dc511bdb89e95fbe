// Measures allgather, and allgatherv with its blocks in reverse order. A size is one rank's block.
#include <vector>

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
    return issue(c, c.job.api->allgather, request, c.send.data(), c.recv.data(), c.bytes, WEFT_BYTE,
                 c.job.comm);
}

// The caller's arrays, made before the measurement.
std::vector<std::size_t> counts;
std::vector<std::ptrdiff_t> displacements;

void fill_reversed(Case& c, std::uint64_t seed) {
    const auto ranks = static_cast<std::size_t>(c.job.ranks);
    counts.assign(ranks, c.bytes);
    displacements.clear();
    for (std::size_t place = ranks; place-- > 0;)
        displacements.push_back(static_cast<std::ptrdiff_t>(place * c.bytes));
    const auto expected = c.expected.as<std::uint8_t>();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        fill_pattern(expected.subspan((ranks - 1 - rank) * c.bytes, c.bytes),
                     static_cast<int>(rank), seed);
    }
    fill_pattern(c.send.as<std::uint8_t>(), c.job.rank, seed);
    fill_blank(c.recv);
}

weft_status start_reversed(Case& c, weft_request* request) {
    return issue(c, c.job.api->allgatherv, request, c.send.data(), c.bytes, c.recv.data(),
                 counts.data(), displacements.data(), WEFT_BYTE, c.job.comm);
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

extern const Collective iallgatherv = {
    .name = "iallgatherv",
    .has_size = true,
    .send_bytes = one_block,
    .recv_bytes = all_blocks,
    .fill = fill_reversed,
    .start = start_reversed,
    .plain = {.from_root = true, .to_root = true},
};

}  // namespace weft::bench
