// `weft bench loggp`: LogGP's parameters of a transport, also of one over an MPI's messages, or of the simulator, whose parameters are known.
#pragma once

#include <string>
#include <vector>

#include "bench/scenario/cell.h"
#include "sim/loggp.h"

namespace weft::bench {

struct LogGpOptions {
    // Of one way in which messages travel each; empty: by the transport's eager threshold.
    std::string small, eager, large;
    int repetitions = 50;
    std::string json;
    bool is_simulated = false;
    simulate::LogGpParameters parameters{};  // then
    std::vector<std::string> mpis = {};      // whose messages carry those of transport mpi
    Cell place = [] {
        Cell cell;
        cell.engine = "manual";
        return cell;
    }();
};

// Starts two ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_loggp(const LogGpOptions& options);

}  // namespace weft::bench
