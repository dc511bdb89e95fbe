// How much a computation would lose to a plain exchange over sockets, on the same core, of the
// bytes that a collective moves. This measures the attainable overlap.
//
// During the exchange (which sleeps whenever it cannot go on), and for at least `window_us`, a
// process of policy SCHED_IDLE on the same core counts the work that it gets done. The shortfall
// from its work when alone is lost: to the exchange, but also to interrupts and the network stack,
// which getrusage charges to nobody.
#pragma once

#include <vector>

#include "bench/collective/collective.h"
#include "bench/plain/burst.h"
#include "bench/plain/sockets.h"
#include "bench/spinner.h"

namespace weft::bench {

// On this rank, in microseconds.
struct PlainTimes {
    double plain = 0;  // the exchange
    double lost = 0;   // CPU time that it took from the core
};

class PlainExchange {
  public:
    // Collective over a job of two ranks, each of which has one core. `spinner` runs there.
    // `burst`: null unless the link between them has a rate limit.
    PlainExchange(const Job& job, Spinner& spinner, Burst* burst);

    // Sets what the next calls of measure() move.
    void prepare(const Collective& collective, std::int64_t bytes);
    // Collective.
    PlainTimes measure(double window_us);

  private:
    void exchange();

    const Job job_;
    Spinner& spinner_;
    Burst* const burst_;
    PlainSockets sockets_;
    bool sends_ = false;
    bool receives_ = false;
    bool reduces_ = false;
    std::vector<double> send_;
    std::vector<double> recv_;
    std::size_t bytes_ = 0;
};

}  // namespace weft::bench
