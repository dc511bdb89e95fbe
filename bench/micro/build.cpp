// Building the schedules of algorithms with about log2(p) rounds, for 1,024 ranks.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "base/clock.h"
#include "bench/micro/rows.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

using namespace algorithm;

constexpr double bar_us = 20;
constexpr Rank ranks = 1024;
constexpr std::int64_t block_bytes = 64;
constexpr std::int64_t rounds_max = 2 * 10;  // twice log2(1024); pipelines and rings have hundreds
// Both ends, and what lies between in the binary forms of trees and hypercubes.
constexpr Rank probed[] = {0, 1, ranks / 2 - 1, ranks - 1};

BarrierArgs barrier_args(Rank rank) { return {.rank = rank, .ranks = ranks}; }

BcastArgs bcast_args(Rank rank) {
    BcastArgs args;
    args.rank = rank;
    args.ranks = ranks;
    args.data = {Buffer::recv, 0, block_bytes};
    return args;
}

AllgatherArgs allgather_args(Rank rank) {
    return {.rank = rank,
            .ranks = ranks,
            .mine = {Buffer::send, 0, block_bytes},
            .all = {Buffer::recv, 0, block_bytes * ranks}};
}

AllreduceArgs allreduce_args(Rank rank) {
    return {.rank = rank,
            .ranks = ranks,
            .from = {Buffer::send, 0, block_bytes},
            .into = {Buffer::recv, 0, block_bytes},
            .element_bytes = 8};
}

template <class Args>
double build_us(const Algorithm<Args>& algorithm, const Args& args) {
    const std::int64_t begin = now_ns();
    ScheduleBuilder builder(args.rank, args.ranks);
    const Status built = algorithm.build(args, builder);
    const Result<Schedule> schedule = built.is_ok() ? builder.seal() : Result<Schedule>(built);
    const std::int64_t end = now_ns();
    if (!schedule.is_ok()) fail("%s at %d ranks: %s", algorithm.name, ranks, last_detail());
    return static_cast<double>(end - begin) / 1000;
}

template <class Args>
void add_rows(MicroRows& rows, const char* collective,
              std::span<const Algorithm<Args>* const> algorithms, Args (*args)(Rank),
              int repetitions) {
    for (const Algorithm<Args>* algorithm : algorithms) {
        if (algorithm->rounds({.ranks = ranks, .bytes = block_bytes, .tuning = {}}) > rounds_max)
            continue;
        double worst = 0;
        for (const Rank rank : probed) {
            std::vector<double> samples;
            for (int i = 0; i < repetitions; ++i) {
                samples.push_back(build_us(*algorithm, args(rank)));
            }
            worst = std::max(worst, median(samples));
        }
        rows.push_back(
            {std::string("building ") + collective + " " + algorithm->name + ", 1,024 ranks", "",
             worst, "us", bar_us, "< 20 us"});
    }
}

}  // namespace

MicroRows measure_build(const Job& job, int repetitions) {
    MicroRows rows;
    if (job.rank == 0) {  // the other rank sleeps in the next collective
        add_rows(rows, "barrier", barriers(), barrier_args, repetitions);
        add_rows(rows, "bcast", bcasts(), bcast_args, repetitions);
        add_rows(rows, "allgather", allgathers(), allgather_args, repetitions);
        add_rows(rows, "allreduce", allreduces(), allreduce_args, repetitions);
    }
    must(weft_barrier(job.comm), "weft_barrier");
    return rows;
}

}  // namespace weft::bench
