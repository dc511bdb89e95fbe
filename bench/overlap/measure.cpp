// The measuring loop.
#include "bench/overlap/measure.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "bench/overlap/disturbed.h"
#include "bench/statistics.h"
#include "bench/work.h"

namespace weft::bench {
namespace {

constexpr int repetitions_min = 5;
constexpr double work_min_us = 1;

// How long the operation takes with this engine, and the work that takes as long; equal on all
// ranks.
struct Calibration {
    double blocking_us;
    std::int64_t iterations;
};

Calibration calibrate(const Job& job, Meter& meter, const Contestant& contestant,
                      double known_ns_per_iteration) {
    constexpr int pilots = 11;
    switch_engine(job, WEFT_ENGINE_MANUAL);
    const double ns_per_iteration = known_ns_per_iteration > 0
                                        ? known_ns_per_iteration
                                        : slowest(job, calibrate_ns_per_iteration());
    switch_engine(job, contestant.engine.value);
    meter.use(contestant);
    meter.blocking_us();  // builds schedules and touches pages
    std::vector<double> samples;
    for (int i = 0; i < pilots; ++i) samples.push_back(meter.blocking_us());
    const double blocking = std::max(slowest(job, median(samples)), work_min_us);
    const double iterations = std::max(blocking * 1000 / ns_per_iteration, 1.0);
    return {blocking, static_cast<std::int64_t>(iterations)};
}

// A repetition, from what each rank measured.
Times slowest_rank(std::span<const Times> ranks) {
    Times times = *std::max_element(ranks.begin(), ranks.end(), [](const Times& a, const Times& b) {
        return a.total < b.total;
    });
    times.cpu = 0;
    for (const Times& rank : ranks) {
        times.call = std::max(times.call, rank.call);
        times.blocking = std::max(times.blocking, rank.blocking);
        times.work = std::max(times.work, rank.work);
        times.plain = std::max(times.plain, rank.plain);
        times.lost = std::max(times.lost, rank.lost);
        times.cpu += rank.cpu;
    }
    return times;
}

void merge_ranks(const Job& job, Cell& cell) {
    cell.by_rank = gather(job, cell.repetitions);
    const std::size_t repetitions = cell.repetitions.size();
    std::vector<Times> ranks(static_cast<std::size_t>(job.ranks));
    for (std::size_t i = 0; i < repetitions; ++i) {
        for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r] = cell.by_rank[r * repetitions + i];
        cell.repetitions[i] = slowest_rank(ranks);
    }
}

// Returns rank 0's `opinion` on every rank.
bool agree(const Job& job, bool opinion) {
    unsigned char value = opinion ? 1 : 0;
    must(weft_bcast(&value, 1, WEFT_BYTE, 0, job.comm), "weft_bcast");
    return value == 1;
}

}  // namespace

double Cell::median_of(double Times::*value) const {
    std::vector<double> samples;
    for (const Times& times : repetitions) samples.push_back(times.*value);
    return median(samples);
}

double Cell::overlap_percent() const {
    const double blocking = median_of(&Times::blocking);
    return 100 * (1 - (median_of(&Times::total) - median_of(&Times::work)) / blocking);
}

std::vector<double> Cell::of_each(double (*value)(const Times&)) const {
    std::vector<double> samples;
    for (const Times& times : repetitions) samples.push_back(value(times));
    return samples;
}

double Cell::attainable_percent() const { return median(attainables_percent()); }

std::vector<double> Cell::overlaps_percent() const {
    return of_each([](const Times& t) { return 100 * (1 - (t.total - t.work) / t.blocking); });
}

std::vector<double> Cell::attainables_percent() const {
    return of_each([](const Times& t) { return 100 * (1 - t.lost / t.blocking); });
}

std::vector<double> Cell::differences() const {
    return of_each([](const Times& t) { return 100 * (t.lost - (t.total - t.work)) / t.blocking; });
}

double Cell::over_us() const {
    return median(of_each([](const Times& t) { return t.total - t.work; }));
}

double Cell::gain() const {
    return (median_of(&Times::call) + median_of(&Times::work)) / median_of(&Times::total);
}

double Cell::share_of(const Cell& copies) const {
    const double attained = copies.overlap_percent();
    return attained > 0 ? overlap_percent() / attained : std::nan("");
}

double Cell::cpu_ms() const {
    // A mean, not a median: getrusage counts whole microseconds, and only the sum is exact.
    double cpu = 0;
    for (const Times& times : repetitions) cpu += times.cpu;
    return cpu / 1000 / static_cast<double>(repetitions.size());
}

bool Cell::is_disturbed() const {
    return bench::is_disturbed(overlap_percent(), median_of(&Times::blocking), spins());
}

void warm_up(const Job& job, const Collective& collective, std::int64_t bytes,
             std::span<const Contestant> contestants) {
    constexpr int times = 4;
    Meter meter(job, collective, bytes, nullptr);
    for (const Contestant& contestant : contestants) {
        switch_engine(job, contestant.engine.value);
        meter.use(contestant);
        for (int i = 0; i < times; ++i) meter.blocking_us();
    }
    switch_engine(job, WEFT_ENGINE_MANUAL);
}

std::vector<Cell> measure(const Job& job, const Collective& collective, std::int64_t bytes,
                          std::span<const Contestant> contestants, const Effort& effort) {
    const std::int64_t begin = now_ns();
    if (effort.plain != nullptr) effort.plain->prepare(collective, bytes);
    Meter meter(job, collective, bytes, effort.burst);
    std::vector<Cell> cells;
    double blocking_us = 0;
    for (const Contestant& contestant : contestants) {
        const Calibration calibration = calibrate(job, meter, contestant, effort.ns_per_iteration);
        blocking_us = std::max(blocking_us, calibration.blocking_us);
        // Everything that is compared with an MPI does the same work.
        const bool is_given =
            (effort.is_same_work || contestants[0].rival != nullptr) && !cells.empty();
        cells.push_back({&collective,
                         bytes,
                         contestant.engine,
                         is_given ? cells[0].work_iterations : calibration.iterations,
                         {},
                         {}});
    }
    for (int repetition = 0; repetition < effort.repetitions; ++repetition) {
        PlainTimes plain;
        if (effort.plain != nullptr) {
            switch_engine(job, WEFT_ENGINE_MANUAL);
            plain = effort.plain->measure(blocking_us);
        }
        for (std::size_t i = 0; i < cells.size(); ++i) {
            Cell& cell = cells[i];
            Times times;
            times.plain = plain.plain;
            times.lost = plain.lost;
            // A spinning thread would also slow down the work alone, and so hide its own cost.
            switch_engine(job, WEFT_ENGINE_MANUAL);
            times.work =
                effort.ns_per_iteration > 0
                    ? effort.ns_per_iteration * static_cast<double>(cell.work_iterations) / 1000
                    : meter.work_us(cell.work_iterations);
            switch_engine(job, cell.engine.value);
            meter.use(contestants[i]);
            meter.blocking_us();  // starts the engine's thread
            times.blocking = meter.blocking_us();
            times.call = contestants[i].rival ? meter.call_us() : times.blocking;
            meter.overlapped(cell.work_iterations, effort.tests, times);
            cell.repetitions.push_back(times);
        }
        if (effort.progress) effort.progress(repetition);
        const double spent_s = static_cast<double>(now_ns() - begin) * 1e-9;
        const bool late = effort.budget_s > 0 && spent_s > effort.budget_s;
        if (repetition + 1 >= repetitions_min && agree(job, late)) break;
    }
    switch_engine(job, WEFT_ENGINE_MANUAL);
    for (Cell& cell : cells) merge_ranks(job, cell);
    return cells;
}

}  // namespace weft::bench
