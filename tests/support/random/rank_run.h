// One rank's run of a random program, one operation after another: fills every buffer, and compares it with the
// expected result, which follows from the seed alone.
//
// Thread safety: none, except where() and steps_done().
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support/random/calls.h"
#include "support/random/program.h"

namespace weft::test::random {

// An operation, and the first member of the communicator (groups of one split share the operation).
using BarrierName = std::pair<int, int>;

struct RunOptions {
    bool algorithms_forced = false;  // calls that lack what they need are refused
    bool may_thread = true;          // engines with threads may be chosen
    bool may_poll = true;            // the engine that spins may be chosen
    bool may_own = false;  // kernel:own may be chosen: the rank runs in the thread that joined
    bool plant = false;    // a wrong operation on the last rank: a test of the tests
    // If ranks share memory: how often members have entered each barrier.
    std::map<BarrierName, std::atomic<int>>* entered = nullptr;
};

// Made before the ranks run, because none of them may insert.
std::map<BarrierName, std::atomic<int>> barriers_of(const Program& program, int ranks);

class RankRun {
  public:
    RankRun(Calls& calls, const Case& c, const Program& program, RunOptions options);
    ~RankRun();
    RankRun(const RankRun&) = delete;
    RankRun& operator=(const RankRun&) = delete;

    // Returns what went wrong first; empty: nothing. A bad status ends the run. Wrong data does not,
    // because others wait for this rank.
    std::string run();

    // What went wrong first, so far.
    const std::string& wrong() const;
    // A bad status has ended the run: others may wait for this rank forever.
    bool is_stopped() const;

    // For messages: this rank's current step, and the operation that it looked at last.
    std::string where() const;
    // Grows while the rank makes progress.
    int steps_done() const;

  private:
    class Walk;
    std::unique_ptr<Walk> walk_;
};

}  // namespace weft::test::random
