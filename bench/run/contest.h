// One rank's part in a contest: its members alternate, repetition by repetition.
#pragma once

#include <functional>

#include "bench/job.h"
#include "bench/run/samples.h"
#include "bench/scenario/scenario.h"

namespace weft::bench {

struct Run {
    Job world;
    Samples& samples;  // only rank 0 writes
    std::uint64_t seed;
    std::function<void(double share, const std::string& doing)> progress;
};

// Measures for at most `budget_s`. Returns what is left of it. Collective.
double measure(const Run& run, const Contest& contest, double budget_s);

}  // namespace weft::bench
