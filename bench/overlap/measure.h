// Measures how much of one collective of one size each engine hides behind computation.
//
// In every repetition and for every engine, each after a barrier:
//   plain     (if wanted, once for all engines) a plain exchange of the same bytes over sockets
//   work      the fixed work alone, without an engine's thread in the process
//   blocking  the operation, waited for at once; with an MPI also its blocking call
//   the overlapped run: start, the work (with evenly spaced calls of weft_test), wait
// A plain copy thread is measured as an engine is. The slowest rank counts. The engines take turns within a repetition, because the machine's speed
// may change from one second to the next.
//
// After Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking
// Collective Operations for MPI, 2007, section 4, doi:10.1145/1362622.1362692
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/engine_kind.h"
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
    std::vector<Times> by_rank;  // each rank's measurements: rank 0's repetitions, rank 1's, ...

    double median_of(double Times::*value) const;
    std::vector<double> of_each(double (*value)(const Times&)) const;
    // The share of the blocking time that the overlapped run saved, in per cent: 100 is perfect.
    // Noise, or an engine that slows the work, may move it out of 0 ... 100.
    double overlap_percent() const;
    // (call + work) / total: 2 is perfect, 1 is nothing, below 1 is a loss.
    double gain() const;
    // The share of the blocking time that a plain exchange leaves to the program. Median.
    double attainable_percent() const;
    // A plain exchange of a large message leaves most of a core, unless other programs take it.
    bool had_its_core() const { return attainable_percent() >= 25; }
    // By repetition: the engine's overlap, the attainable overlap, and the difference in points.
    std::vector<double> overlaps_percent() const;
    std::vector<double> attainables_percent() const;
    std::vector<double> differences() const;
    // How much longer the overlapped run took than the work: median of the repetitions.
    double over_us() const;
    // CPU time of all ranks in an overlapped run, including the work: mean of the repetitions.
    double cpu_ms() const;
    bool is_of_copy_thread() const { return engine.name == std::string_view(copy_thread_name); }
    // Its overlap divided by the copy thread's; not a number if that hides nothing.
    double share_of(const Cell& copies) const;
    bool spins() const { return traits(static_cast<EngineKind>(engine.value)).has_poller; }
    // Whether something else must have played a part: see bench/overlap/disturbed.h.
    bool is_disturbed() const;
};

struct Effort {
    int repetitions = 30;
    int tests = 0;
    bool is_same_work = false;       // all do the first contestant's work; otherwise each its own
    double budget_s = 0;             // 0: no limit
    PlainExchange* plain = nullptr;  // null: not measured
    Burst* burst = nullptr;          // null: no link has a rate limit, or bursts are allowed
    double ns_per_iteration = 0;     // of the work; 0: measured with the work alone
    std::function<void(int repetition)> progress;
};

// Runs the operation a few times with each contestant: a connection's window grows with use, and
// later measurements must have no advantage over earlier ones. Collective.
void warm_up(const Job& job, const Collective& collective, std::int64_t bytes,
             std::span<const Contestant> contestants);

// Returns one cell per engine, the same on every rank. Collective.
std::vector<Cell> measure(const Job& job, const Collective& collective, std::int64_t bytes,
                          std::span<const Contestant> contestants, const Effort& effort);

}  // namespace weft::bench
