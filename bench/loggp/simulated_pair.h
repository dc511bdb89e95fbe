// The pair in the LogGP machine, whose parameters are known: what the method finds there can be compared with them.
#pragma once

#include "bench/loggp/pair.h"
#include "sim/loggp.h"

namespace weft::bench {

class SimulatedPair : public LogGpPair {
  public:
    explicit SimulatedPair(const simulate::LogGpParameters& parameters) : parameters_(parameters) {}
    std::vector<std::vector<double>> time(const std::vector<LogGpTrain>& trains,
                                          int repetitions) override;

  private:
    std::vector<double> time_of(const LogGpTrain& train) const;

    simulate::LogGpParameters parameters_;
};

}  // namespace weft::bench
