// Builds the schedules of algorithms with about log2(p) rounds, of Bruck's alltoall and of calls
// that list a block for every rank, for 1,024 ranks, and of pipelines on a circulant graph for a
// million; and reduces, with data in a cache, and of some types also in memory. Where a loop has
// versions for several instruction sets, each that this processor can run has its own rows.
#include "bench/micro.h"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/catalogue.h"
#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/statistics.h"
#include "bench/table.h"
#include "lab/every_rank.h"
#include "reduce/kernels.h"
#include "reduce/reduce.h"
#include "reduce/versions.h"
#include "shape/torus.h"

namespace weft::bench {
namespace {

using namespace algorithm;

constexpr Rank ranks = 1024;
constexpr std::int64_t block_bytes = 64;
// For twice log2(1024) rounds. Pipelines and rings have hundreds; an alltoall moves all blocks.
constexpr std::size_t operations_max = 10 * 2 * 10;
// Both ends, and the middle, where the trees and hypercubes change.
constexpr Rank probed[] = {0, 1, ranks / 2 - 1, ranks - 1};

// Whether a call lists or moves a block for every rank; its schedules are built anyway.
bool has_all_blocks(const CollectiveSpec& spec, const Algorithm& algorithm) {
    if (spec.is_among_neighbors()) return false;
    return spec.lists_blocks() || (spec.collective == weft::Collective::alltoall &&
                                   algorithm.name == std::string("bruck"));
}

double build_us(const Algorithm& algorithm, const Problem& problem) {
    const std::int64_t begin = now_ns();
    const Result<Schedule> schedule = build_rank(algorithm, problem);
    const std::int64_t end = now_ns();
    if (!schedule.is_ok())
        fail("%s at %d ranks: %s", algorithm.name, problem.ranks(), last_detail());
    return static_cast<double>(end - begin) / 1000;
}

void add_rows(Table& table, const CollectiveSpec& spec, int repetitions) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> offsets;
    for (Rank r = 0; spec.sizes == algorithm::Sizes::known_to_all && r < ranks; ++r) {
        sizes.push_back(block_bytes);
        offsets.push_back(r * block_bytes);
    }
    const Torus torus({32, 32});
    const GlobalArgs agreed = {.ranks = ranks,
                               .bytes = spec.agrees_on_sizes() ? block_bytes : -1,
                               .sizes = sizes,
                               .element_bytes = 8,
                               .torus = &torus};
    static constexpr Dimension grid[] = {{32, true}, {32, true}};
    std::vector<Neighborhood> neighbors;
    for (Rank r = 0; r < ranks; ++r) neighbors.push_back(grid_neighbors(grid, r));
    const EveryRank every_rank(
        spec, agreed, /*in_place=*/false, offsets,
        [](Rank, Rank, std::size_t) { return block_bytes; },
        /*gap=*/0, neighbors);
    for (const Algorithm* algorithm : spec.algorithms) {
        const Result<Schedule> schedule = build_rank(*algorithm, every_rank.problems().front());
        const bool has_all = has_all_blocks(spec, *algorithm);
        if (!has_all && schedule.is_ok() && (*schedule).ops().size() > operations_max) continue;
        double worst = 0;
        for (const Rank rank : probed) {
            const Problem& problem = every_rank.problems()[static_cast<std::size_t>(rank)];
            std::vector<double> samples;
            for (int i = 0; i < repetitions; ++i) {
                samples.push_back(build_us(*algorithm, problem));
            }
            worst = std::max(worst, median(samples));
        }
        table.add({std::string("building ") + spec.name + " " + algorithm->name + ", 1,024 ranks",
                   fixed(worst, 1), "us"});
    }
}

// The slowest of some ranks, for a vector that takes 1,000 rounds more than a single block.
void add_circulant_row(Table& table, const char* collective, int repetitions) {
    constexpr Rank million = 1 << 20;
    const CollectiveSpec& spec = *find_spec(collective);
    const Algorithm& circulant = *spec.find("circulant");
    GlobalArgs agreed = {.ranks = million, .bytes = 1000 * 1024, .element_bytes = 8};
    agreed.tuning.segment_bytes = 1024;
    double worst = 0;
    for (const Rank rank : {0, 1, million / 3, million / 2 - 1, million - 1}) {
        const Problem problem = spec.problem(agreed, rank, /*in_place=*/false);
        std::vector<double> samples;
        for (int i = 0; i < repetitions; ++i) samples.push_back(build_us(circulant, problem));
        worst = std::max(worst, median(samples));
    }
    table.add({std::string("building ") + spec.name + " circulant, 1,048,576 ranks",
               fixed(worst, 1), "us"});
}

struct Combination {
    weft_op op;
    weft_type type;
    bool is_large = false;  // also measured in memory, not only in a cache
};

constexpr std::size_t cached_bytes = 64 * 1024;
constexpr std::size_t large_bytes = 16 * 1024 * 1024;

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    return {first, first + sizeof value};
}

// Elements whose sums and products remain normal numbers.
std::vector<std::byte> one_of(weft_type type) {
    switch (type) {
        case WEFT_FLOAT16: return bytes_of(std::uint16_t{0x3c00});
        case WEFT_BFLOAT16: return bytes_of(std::uint16_t{0x3f80});
        case WEFT_FLOAT32: return bytes_of(1.0f);
        case WEFT_FLOAT64: return bytes_of(1.0);
        case WEFT_COMPLEX64: return bytes_of(std::complex<float>(1));
        case WEFT_COMPLEX128: return bytes_of(std::complex<double>(1));
        default: return std::vector<std::byte>(type_bytes(type), std::byte{1});
    }
}

// Of one operand.
double gigabytes_per_second(const Reduction& reduction, std::size_t bytes, int repetitions) {
    const int batch =
        bytes == cached_bytes ? 10 : 1;  // a single one may be too short for the clock
    PageBuffer from(bytes);
    PageBuffer into(bytes);
    const std::vector<std::byte> one = one_of(reduction.type);
    for (std::size_t at = 0; at < bytes; at += one.size()) {
        std::memcpy(from.data() + at, one.data(), one.size());
        std::memcpy(into.data() + at, one.data(), one.size());
    }
    std::vector<double> samples;
    for (int i = 0; i < repetitions; ++i) {
        const std::int64_t begin = now_ns();
        for (int b = 0; b < batch; ++b) reduction.apply(from.data(), into.data(), bytes);
        samples.push_back(static_cast<double>(batch) * static_cast<double>(bytes) /
                          static_cast<double>(now_ns() - begin));
    }
    return median(samples);
}

void add_reduction_rows(Table& table, const Combination& c, const Reduction& reduction,
                        const std::string& name, int repetitions) {
    for (const std::size_t bytes : {cached_bytes, large_bytes}) {
        if (bytes == large_bytes && !c.is_large) continue;
        table.add({name + (bytes == large_bytes ? ", 16 MiB" : ", 64 KiB"),
                   fixed(gigabytes_per_second(reduction, bytes, repetitions), 1), "GB/s"});
    }
}

// The version that is used, and then each by its name, the portable one first.
void add_reductions(Table& table, const Combination& c, int repetitions) {
    const Result<Reduction> bound = bind_reduction(c.op, c.type);
    if (!bound.is_ok()) fail("%s", last_detail());
    const std::string name = std::string("reducing ") + op_name(c.op) + " of " + type_name(c.type);
    add_reduction_rows(table, c, *bound, name, repetitions);
    if (c.type < WEFT_FLOAT16) return;
    Kernel before = nullptr;
    for (unsigned v = 0; v <= static_cast<unsigned>(best_loops()); ++v) {
        Reduction reduction = *bound;
        reduction.kernel = versioned_kernel_of(reduction.op, c.type, reduction.rounding,
                                               static_cast<LoopVersion>(v));
        // (Not every version has a loop of its own.)
        if (std::exchange(before, reduction.kernel) == reduction.kernel) continue;
        add_reduction_rows(table, c, reduction, name + " by " + loop_version_names[v], repetitions);
    }
}

}  // namespace

int bench_micro(int repetitions) {
    const Combination combinations[] = {
        {WEFT_SUM, WEFT_FLOAT64},
        {WEFT_SUM, WEFT_FLOAT32, true},
        {WEFT_SUM, WEFT_FLOAT16, true},
        {WEFT_SUM, WEFT_BFLOAT16, true},
        {WEFT_SUM, WEFT_INT32},
        {WEFT_PROD, WEFT_FLOAT32, true},
        {WEFT_PROD, WEFT_COMPLEX64, true},
        {WEFT_PROD, WEFT_COMPLEX128, true},
        {WEFT_MAX, WEFT_FLOAT64},
        {WEFT_BAND, WEFT_UINT64},
    };
    Table table({"measured", "median", ""}, Table::Last::words);
    for (const CollectiveSpec& spec : catalogue()) add_rows(table, spec, repetitions);
    for (const char* collective : {"bcast", "reduce"})
        add_circulant_row(table, collective, repetitions);
    for (const Combination& c : combinations) add_reductions(table, c, repetitions);
    table.print(stdout);
    return 0;
}

}  // namespace weft::bench
