// The parts of `weft bench micro`. Each measures something and returns rows to print.
#pragma once

#include <string>
#include <vector>

#include "bench/job.h"

namespace weft::bench {

// One measured value and its bar.
struct MicroRow {
    std::string what;
    std::string engine = "";  // "": none involved
    double value = 0;
    std::string unit;
    double bar = 0;  // the value must not exceed it; 0: reported without a bar
    std::string bar_text = "";
};

using MicroRows = std::vector<MicroRow>;

// Each part is collective over a job of two ranks; only rank 0's rows are right.
MicroRows measure_barrier(const Job& job, int repetitions);  // needs a core for each rank
MicroRows measure_bcast(const Job& job, int repetitions);    // needs a core for each rank
MicroRows measure_start(const Job& job, int repetitions);
MicroRows measure_start_beside(const Job& job, int repetitions);
MicroRows measure_build(const Job& job, int repetitions);
MicroRows measure_reduction(const Job& job, int repetitions);

}  // namespace weft::bench
