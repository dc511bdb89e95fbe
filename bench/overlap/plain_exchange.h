// What a computation on the same core would lose to a plain exchange over sockets of what a
// collective moves: the measure of what overlap is attainable.
//
// While the exchange goes on (it sleeps whenever it cannot go on), and for `window_us` at least, a
// process of policy SCHED_IDLE on the same core counts what work it gets done. What it lacks of
// what it does alone in that time is lost: to the exchange, but also to interrupts and the network
// stack, which getrusage charges to nobody.
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
    // `burst` where the link between them has a rate limit, else null.
    PlainExchange(const Job& job, Spinner& spinner, Burst* burst);

    // What the next calls of measure() move.
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
