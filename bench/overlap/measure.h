// Measures how much of one collective of one size is hidden behind computation, per engine.
//
// In every repetition and for every engine, each after a barrier:
//   plain     (if wanted, once for all engines) a plain exchange of the same bytes over sockets
//   work      the fixed work alone, with no engine's thread in the process
//   blocking  the operation, waited for at once; beside an MPI also its blocking call
//   the overlapped run: start, the work (with calls of weft_test evenly within), wait
// A repetition counts as its slowest rank. The engines take turns within a repetition, because the
// machine's speed may change from one second to the next.
//
// After Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking
// Collective Operations for MPI, 2007, section 4, doi:10.1145/1362622.1362692
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/collective/collective.h"
#include "bench/contestants.h"
#include "bench/overlap/meter.h"
#include "bench/overlap/plain_exchange.h"

namespace weft::bench {

// One row of the result.
struct Cell {
    const Collective* collective = nullptr;
    std::int64_t bytes = 0;
    Engine engine{};
    std::int64_t work_iterations = 0;
    std::vector<Times> repetitions;
    std::vector<Times> by_rank;  // what each rank saw: rank 0's repetitions, rank 1's, ...

    double median_of(double Times::*value) const;
    std::vector<double> of_each(double (*value)(const Times&)) const;
    // The share of the blocking time that the overlapped run saved, in per cent: 100 is perfect.
    // Noise, or an engine that slows the work, takes it out of 0 ... 100; it is shown as it is.
    double overlap_percent() const;
    // (call + work) / total: 2 is perfect, 1 is nothing, below 1 is a loss.
    double gain() const;
    // The same for a plain exchange: the share of the blocking time that its loss leaves. Median.
    double attainable_percent() const;
    // A plain exchange of a large message leaves most of a core, unless somebody else takes it.
    bool had_its_core() const { return attainable_percent() >= 25; }
    // Of each repetition: what the engine lost, the plain exchange lost, and the difference in
    // points.
    std::vector<double> overlaps_percent() const;
    std::vector<double> attainables_percent() const;
    std::vector<double> differences() const;
    // How much longer than the work the overlapped run took: median of repetitions.
    double over_us() const;
    // CPU time of an overlapped run, work included, of all ranks together: mean of repetitions.
    double cpu_ms() const;
    // Whether something else than the engine must have taken part: see bench/overlap/disturbed.h.
    bool is_disturbed() const;
};

struct Effort {
    int repetitions = 30;
    int tests = 0;
    bool is_same_work = false;       // as calibrated with the first contestant; else each its own
    double budget_s = 0;             // 0: no limit
    PlainExchange* plain = nullptr;  // null: not measured
    Burst* burst = nullptr;          // null: no link has a rate limit, or it may let bursts through
    double ns_per_iteration = 0;     // of the work; 0: to be measured, with the work alone
    std::function<void(int repetition)> progress;
};

// The operation a few times with each contestant: the windows of a connection grow with what it has
// carried, and a later measurement must not be at an advantage over an earlier one. Collective.
void warm_up(const Job& job, const Collective& collective, std::int64_t bytes,
             std::span<const Contestant> contestants);

// One cell per engine. Collective; every rank gets the same cells.
std::vector<Cell> measure(const Job& job, const Collective& collective, std::int64_t bytes,
                          std::span<const Contestant> contestants, const Effort& effort);

}  // namespace weft::bench
