// Two ranks between which LogGP's parameters are measured: of a job, or simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

// What is timed.
struct LogGpTrain {
    enum class Kind {
        // Rank 0 sends `messages` of `bytes`, each but the first after a delay, until rank 1's answer has come.
        round_trip,
        // Rank 1 asks for each with a byte, waits for a delay, and only then posts the receive, until all have come.
        reception,
        requests,  // the bytes and the delays of a reception, without its messages
        delays,    // as many delays, without messages
        // A round trip without delays: the CPU time of rank 0, and of rank 1, without waiting.
        sending_cpu,
        receiving_cpu,
        reductions,  // as many reductions of `bytes`, one after the other
        copies,
        start,      // of a round trip
        test,       // that finds nothing
        late_trip,  // a round trip to a rank that has fallen asleep
    };
    Kind kind;
    int messages = 1;
    std::int64_t delay_ns = 0;
    std::int64_t bytes = 1;
};

class LogGpPair {
  public:
    virtual ~LogGpPair() = default;
    // Samples in nanoseconds, `repetitions` for each train; none where this pair has no such cost. The same on
    // both ranks.
    virtual std::vector<std::vector<double>> time(const std::vector<LogGpTrain>& trains,
                                                  int repetitions) = 0;
};

}  // namespace weft::bench
