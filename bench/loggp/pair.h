// Two ranks between which LogGP's parameters are measured: of a job, or simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

// What is timed.
struct LogGpTrain {
    enum class Kind {
        round_trip,  // rank 0 sends `messages` of `bytes`, each but the first after a delay; when all have come, rank 1
        // answers with one: until rank 0 has that
        reception,  // rank 0 sends them at once, rank 1 posts each receive after a delay: until rank 1 has all
        delays,      // as many delays, without messages
        reductions,  // as many reductions of `bytes`, one after the other
        copies,
        start,      // the start of a round trip of one message
        test,       // a test that finds nothing
        late_trip,  // as round_trip, when rank 1 has slept for long
    };
    Kind kind;
    int messages = 1;
    std::int64_t delay_ns = 0;
    std::int64_t bytes = 1;
};

class LogGpPair {
  public:
    virtual ~LogGpPair() = default;
    // Nanoseconds, so many for each train; no samples: this pair does not know such a cost. On both ranks the same.
    virtual std::vector<std::vector<double>> time(const std::vector<LogGpTrain>& trains,
                                                  int repetitions) = 0;
};

}  // namespace weft::bench
