// What a rank computes: fixed work, calibrated alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/job.h"
#include "bench/scenario/cell.h"

namespace weft::bench {

class Computation {
  public:
    Computation() = default;  // of nothing
    // Of `us`, on a machine that makes one step of `what` in `step_us`.
    Computation(Compute::What what, double us, double step_us);

    // Runs piece `index` of `pieces`, all of about the same size.
    void run(int index = 0, int pieces = 1) const;
    // Of the loop and the product; a sleep's nanoseconds.
    std::int64_t steps() const { return steps_; }
    bool is_any() const { return steps_ > 0; }

    // How long one step takes on the fastest rank. Collective.
    static double calibrate_step_us(const Job& job, Compute::What what);

  private:
    Compute::What what_ = Compute::What::loop;
    std::int64_t steps_ = 0;
};

}  // namespace weft::bench
