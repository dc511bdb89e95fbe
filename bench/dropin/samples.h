// The output of bench/dropin/program.c, as cells.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/json.h"
#include "bench/ratio.h"

namespace weft::bench {

// A repetition, in microseconds.
struct OverlapSample {
    double work = 0;
    double blocking = 0;  // start + wait
    double total = 0;     // start, the work, wait
};

// One collective of one size.
struct OverlapCell {
    std::string collective;
    std::int64_t bytes = 0;
    double lost_us = 0;  // CPU time that a plain exchange takes; 0: not measured
    std::vector<std::vector<OverlapSample>> without, with;  // by round

    double median_of(const std::vector<std::vector<OverlapSample>>& rounds,
                     double OverlapSample::*value) const;
    // In per cent; median of the repetitions.
    double overlap_percent(const std::vector<std::vector<OverlapSample>>& rounds) const;
    double attainable_percent() const;  // with the library
    Ratio total_ratio() const;          // with / without, by round
    std::string name() const;
    JsonLine json() const;
};

struct LatencyCell {
    std::string collective;
    std::int64_t bytes = 0;            // 0: it has no size
    int outstanding = 1;               // 0: blocking
    std::vector<double> with, native;  // by turn

    Ratio ratio() const;
    std::string name() const;
    JsonLine json() const;
};

// A function that has nothing to do, in nanoseconds per call, by turn.
struct CallCell {
    std::string function;
    std::vector<double> with, native;

    std::vector<double> differences() const;  // how much more with the library
    JsonLine json(const char* measure) const;
};

// MPI_Init, in microseconds, by job.
struct InitTimes {
    std::vector<double> with, without;

    JsonLine json() const;
};

struct DropinCells {
    std::string version;  // of the MPI
    InitTimes init;
    std::vector<CallCell> calls;
    std::vector<CallCell> stubs;  // handed on to the MPI by the first library, which has no part
    std::vector<OverlapCell> overlap;
    std::vector<LatencyCell> latency;
    std::vector<LatencyCell> blocking;
};

// CPU time of plain exchanges by "ibcast 65536".
using LostTimes = std::map<std::string, double>;

// Adds the rows of a job's file. False: there are none.
bool add_rows(const std::string& path, bool is_with, const LostTimes& lost, DropinCells& cells);

}  // namespace weft::bench
