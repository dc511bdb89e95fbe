// Measures allreduce, reduce to rank 0, reduce_scatter_block, reduce_scatter with blocks of one size, scan
// and exscan: sums of float64, of integers small enough for an exact sum.
#include <algorithm>

#include "bench/collective/collective.h"

namespace weft::bench {
namespace {

constexpr int root = 0;

// Sizes are rounded down to whole elements, at least one.
std::size_t elements(std::size_t bytes) { return std::max<std::size_t>(bytes / sizeof(double), 1); }

std::size_t whole_bytes(std::size_t bytes, int) { return elements(bytes) * sizeof(double); }
std::size_t all_whole_bytes(std::size_t bytes, int ranks) {
    return whole_bytes(bytes, ranks) * static_cast<std::size_t>(ranks);
}

double term(int rank, std::uint64_t seed, std::size_t i) {
    return static_cast<double>((i + seed) % 1021 + static_cast<std::size_t>(rank) * 3);
}

void fill(Case& c, std::uint64_t seed) {
    const auto send = c.send.as<double>();
    const auto expected = c.expected.as<double>();
    // The sum over all ranks of i' + 3 * rank.
    const double ranks = c.job.ranks;
    const double rank_sum = 3 * ranks * (ranks - 1) / 2;
    for (std::size_t i = 0; i < elements(c.bytes); ++i) {
        send[i] = term(c.job.rank, seed, i);
        expected[i] = ranks * term(0, seed, i) + rank_sum;
    }
    fill_blank(c.recv);
}

void fill_reduce(Case& c, std::uint64_t seed) {
    fill(c, seed);
    if (c.job.rank != root) fill_blank(c.expected);  // only the root receives anything
}

weft_status start(Case& c, weft_request* request) {
    return issue(c, c.job.api->allreduce, request, c.send.data(), c.recv.data(), elements(c.bytes),
                 WEFT_FLOAT64, WEFT_SUM, c.job.comm);
}

weft_status start_reduce(Case& c, weft_request* request) {
    return issue(c, c.job.api->reduce, request, c.send.data(), c.recv.data(), elements(c.bytes),
                 WEFT_FLOAT64, WEFT_SUM, root, c.job.comm);
}

void fill_scattered(Case& c, std::uint64_t seed) {
    const auto send = c.send.as<double>();
    const auto expected = c.expected.as<double>();
    const double ranks = c.job.ranks;
    const double rank_sum = 3 * ranks * (ranks - 1) / 2;
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = term(c.job.rank, seed, i);
    const std::size_t first = static_cast<std::size_t>(c.job.rank) * elements(c.bytes);
    for (std::size_t i = 0; i < elements(c.bytes); ++i)
        expected[i] = ranks * term(0, seed, first + i) + rank_sum;
    fill_blank(c.recv);
}

weft_status start_scattered(Case& c, weft_request* request) {
    return issue(c, c.job.api->reduce_scatter_block, request, c.send.data(), c.recv.data(),
                 elements(c.bytes), WEFT_FLOAT64, WEFT_SUM, c.job.comm);
}

weft_status start_counted(Case& c, weft_request* request) {
    return issue(c, c.job.api->reduce_scatter, request, c.send.data(), c.recv.data(),
                 equal_counts(c.job, elements(c.bytes)), WEFT_FLOAT64, WEFT_SUM, c.job.comm);
}

// The sum over the first `ranks` ranks.
void fill_prefix(Case& c, std::uint64_t seed, double ranks) {
    const auto send = c.send.as<double>();
    const auto expected = c.expected.as<double>();
    const double rank_sum = 3 * ranks * (ranks - 1) / 2;
    for (std::size_t i = 0; i < elements(c.bytes); ++i) {
        send[i] = term(c.job.rank, seed, i);
        expected[i] = ranks * term(0, seed, i) + rank_sum;
    }
    fill_blank(c.recv);
}

void fill_scan(Case& c, std::uint64_t seed) { fill_prefix(c, seed, c.job.rank + 1); }

weft_status start_scan(Case& c, weft_request* request) {
    return issue(c, c.job.api->scan, request, c.send.data(), c.recv.data(), elements(c.bytes),
                 WEFT_FLOAT64, WEFT_SUM, c.job.comm);
}

void fill_exscan(Case& c, std::uint64_t seed) {
    fill_prefix(c, seed, c.job.rank);
    if (c.job.rank == 0) fill_blank(c.expected);  // it receives nothing
}

weft_status start_exscan(Case& c, weft_request* request) {
    return issue(c, c.job.api->exscan, request, c.send.data(), c.recv.data(), elements(c.bytes),
                 WEFT_FLOAT64, WEFT_SUM, c.job.comm);
}

}  // namespace

extern const Collective iallreduce = {
    .name = "iallreduce",
    .has_size = true,
    .send_bytes = whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill,
    .start = start,
    .plain = {.from_root = true, .to_root = true, .reduces = true},
};

extern const Collective ireduce = {
    .name = "ireduce",
    .has_size = true,
    .send_bytes = whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill_reduce,
    .start = start_reduce,
    .plain = {.to_root = true, .reduces = true},
};

extern const Collective ireduce_scatter_block = {
    .name = "ireduce_scatter_block",
    .has_size = true,
    .send_bytes = all_whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill_scattered,
    .start = start_scattered,
    .plain = {.from_root = true, .to_root = true, .reduces = true},
};

extern const Collective ireduce_scatter = {
    .name = "ireduce_scatter",
    .has_size = true,
    .send_bytes = all_whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill_scattered,
    .start = start_counted,
    .plain = {.from_root = true, .to_root = true, .reduces = true},
};

extern const Collective iscan = {
    .name = "iscan",
    .has_size = true,
    .send_bytes = whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill_scan,
    .start = start_scan,
    .plain = {.from_root = true, .reduces = true},
};

extern const Collective iexscan = {
    .name = "iexscan",
    .has_size = true,
    .send_bytes = whole_bytes,
    .recv_bytes = whole_bytes,
    .fill = fill_exscan,
    .start = start_exscan,
    .plain = {.from_root = true},
};

}  // namespace weft::bench
