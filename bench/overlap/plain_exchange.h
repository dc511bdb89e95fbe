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
#include "bench/spinner.h"
#include "bench/plain/sockets.h"

namespace weft::bench {

// On this rank, in microseconds.
struct PlainTimes {
    double plain = 0;  // the exchange
    double lost = 0;   // CPU time that it took from the core
};

class PlainExchange {
  public:
    // Collective over a job of two ranks, each of which has one core. `spinner` runs there.
    // The links between them have a rate limit, or not.
    PlainExchange(const Job& job, Spinner& spinner, bool is_limited);

    // A rate limit lets a burst through at once after a pause. After this the pause is over: what
    // is measured next meets a link at its rate, whatever came before. Collective.
    void use_up_burst();

    // What the next calls of measure() move.
    void prepare(const Collective& collective, std::int64_t bytes);
    // Collective.
    PlainTimes measure(double window_us);

  private:
    void exchange();

    const Job job_;
    Spinner& spinner_;
    const bool is_limited_;
    PlainSockets sockets_;
    bool sends_ = false;
    bool receives_ = false;
    bool reduces_ = false;
    std::vector<double> send_;
    std::vector<double> recv_;
    std::size_t bytes_ = 0;
    std::vector<std::byte> burst_;
};

}  // namespace weft::bench
