// Builds the schedules of algorithms with about log2(p) rounds, of Bruck's alltoall and of calls
// that list a block for every rank, for 1,024 ranks; and of pipelines on a circulant graph for a
// million.
#include <algorithm>

#include "algorithm/catalogue.h"
#include "base/clock.h"
#include "bench/micro/rows.h"
#include "bench/statistics.h"
#include "lab/every_rank.h"
#include "shape/torus.h"

namespace weft::bench {
namespace {

using namespace algorithm;

constexpr Rank ranks = 1024;
constexpr double bar_us = 20;
constexpr double listing_bar_us = 50 + 0.02 * ranks;
constexpr std::int64_t block_bytes = 64;
// For twice log2(1024) rounds. Pipelines and rings have hundreds; an alltoall moves all blocks.
constexpr std::size_t operations_max = 10 * 2 * 10;
// Both ends, and the middle, where the trees and hypercubes change.
constexpr Rank probed[] = {0, 1, ranks / 2 - 1, ranks - 1};

// Whether a call lists or moves a block for every rank; its schedules are built anyway.
bool has_all_blocks(const CollectiveSpec& spec, const Algorithm& algorithm) {
    if (spec.is_among_neighbors()) return false;
    return spec.lists_blocks() ||
           (spec.collective == Collective::alltoall && algorithm.name == std::string("bruck"));
}

double build_us(const Algorithm& algorithm, const Problem& problem) {
    const std::int64_t begin = now_ns();
    const Result<Schedule> schedule = build_rank(algorithm, problem);
    const std::int64_t end = now_ns();
    if (!schedule.is_ok())
        fail("%s at %d ranks: %s", algorithm.name, problem.ranks(), last_detail());
    return static_cast<double>(end - begin) / 1000;
}

void add_rows(MicroRows& rows, const CollectiveSpec& spec, int repetitions) {
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
        rows.push_back(
            {std::string("building ") + spec.name + " " + algorithm->name + ", 1,024 ranks", "",
             worst, "us", has_all ? listing_bar_us : bar_us, has_all ? "< 70 us" : "< 20 us"});
    }
}

// The slowest of some ranks, for a vector that takes 1,000 rounds more than a single block.
void add_circulant_row(MicroRows& rows, const char* collective, int repetitions) {
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
    rows.push_back({std::string("building ") + spec.name + " circulant, 1,048,576 ranks", "", worst,
                    "us", 1000, "< 1 ms"});
}

}  // namespace

MicroRows measure_build(const Job& job, int repetitions) {
    MicroRows rows;
    if (job.rank == 0) {  // the other rank sleeps in the next collective
        for (const CollectiveSpec& spec : catalogue()) add_rows(rows, spec, repetitions);
        add_circulant_row(rows, "bcast", repetitions);
        add_circulant_row(rows, "reduce", repetitions);
    }
    must(weft_barrier(job.comm), "weft_barrier");
    return rows;
}

}  // namespace weft::bench
