// The pair of a job: schedules of our own between its two ranks.
#pragma once

#include "bench/job.h"
#include "bench/loggp/pair.h"

namespace weft::bench {

// Collective over both ranks.
class RealPair : public LogGpPair {
  public:
    explicit RealPair(const Job& job);
    // In random order, the same on both ranks.
    std::vector<std::vector<double>> time(const std::vector<LogGpTrain>& trains,
                                          int repetitions) override;

  private:
    const Job job_;
    double test_ns_ = 0;  // that finds nothing
};

}  // namespace weft::bench
