// Measures relays: a broadcast from rank 0 along the chain 0, 1, 2, whose middle rank does not
// enter the library between its start and the end of its computation.
//
// Ranks 1 and 2 start; rank 0 starts after a time that is long enough, which is checked. A relay
// lasts from then to the return of rank 2's wait, on the clock that all ranks of a machine share.
// Ranks 0 and 2 only start and wait, with the engine manual: only the middle rank's engine differs.
// Engines take turns within a repetition.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/contestants.h"
#include "bench/fibers.h"
#include "bench/relay/options.h"

namespace weft::bench {

struct RelayContestant {
    std::string name;
    Contestant in;
    bool has_long_slice = false;
    FiberWay fiber{};  // of the middle rank
};

// In microseconds.
struct Relay {
    double latency = 0;
    double work = 0;       // how long the middle rank computed meanwhile
    double cpu = 0;        // CPU time of all threads of the middle rank meanwhile
    bool is_late = false;  // it ended only when the middle rank was back in the library
};

std::vector<double> samples(std::span<const Relay> relays, double Relay::*value);

// One row of the result.
struct RelayCell {
    std::string engine;
    std::int64_t bytes = 0;
    std::vector<std::vector<Relay>> repetitions;
    std::vector<Relay> alone;  // by repetition: the mean of the computation without a relay
    int left_out = 0;          // relays that rank 0 started before the others were ready

    // By repetition.
    std::vector<double> means() const;
    // By relay.
    std::vector<double> latencies() const;
    int late() const;
    // What a relay takes from the middle rank: how much longer its computation takes (median of the
    // repetitions), and what getrusage says (mean).
    double taken_us() const;
    double cpu_us() const;
};

struct RelayEffort {
    int repetitions = 30;
    int relays = 10;
    bool populate = false;
    std::function<void(int repetition)> progress;
};

// One cell per contestant. Collective over three ranks; rank 0 gets the cells.
std::vector<RelayCell> measure_relays(const Job& job, std::int64_t bytes,
                                      std::span<const RelayContestant> contestants,
                                      const RelayEffort& effort);

}  // namespace weft::bench
