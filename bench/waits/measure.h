// Measures one situation with one collective of one size.
//
// In every repetition and for every engine, each after a barrier:
//   the operation, waited for at once, twice: starts the engine's thread; then timed (`blocking`)
//   the situation itself (`times`)
// Every result is verified. The engines take turns within a repetition, and the first one rotates.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/contestants.h"
#include "bench/points.h"
#include "bench/ratio.h"
#include "bench/waits/situation.h"

namespace weft::bench {

// One row of the result. In microseconds.
struct WaitsCell {
    Point point;
    int every_us = 0;
    Engine engine{};
    double work_us = 0;  // of a rank that computes; 0: until the operation is complete
    // By repetition.
    std::vector<double> blocking;
    std::vector<double> times;

    // The share of times longer than ten times the median.
    double long_percent() const;
    Ratio ratio_to(const WaitsCell& base) const;
};

struct WaitsEffort {
    int repetitions = 40;
    std::int64_t skew_ns = 0;
    std::uint64_t seed = 1;
    std::function<void(int repetition)> progress;
};

// Sends large messages between all ranks: the first ones over shared memory are slower, because
// their writer tries ways of copying. Collective.
void warm_up(const Job& job);

// Replaces each contestant's communicator by one that the situation needs. Collective.
void prepare_contestants(const Job& job, const Situation& situation,
                         std::span<Contestant> contestants);

// One cell per contestant, the same on every rank. The work of `skew` is as long as the operation
// takes with the first contestant. Collective.
std::vector<WaitsCell> measure_waits(const Job& job, const Situation& situation, const Point& point,
                                     int every_us, std::span<const Contestant> contestants,
                                     const WaitsEffort& effort);

}  // namespace weft::bench
