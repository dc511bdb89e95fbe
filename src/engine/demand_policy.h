// Work on demand as a policy: when this rank demands what it lacks of the ranks that compute, and
// whether its own progress thread waits until it is demanded (decision 10). How a demand travels is
// the transports' matter (transport/shm/demand.h).
//
// The program lacks something
//   - in a wait: quietly at first, later so that peers are woken (escalate());
//   - in a row of tests that find nothing, or of waits that end by their deadlines;
//   - while it waits outside of the library: at once, nobody will be there to demand later.
// When the last of these ends, the transports are told that nothing is demanded any more.
//
// Without the policy (is_on() is false) nothing is demanded, and this rank works for everybody.
//
// Thread safety: none; the engine's lock covers it.
#pragma once

#include <cstdint>

#include "run/executor.h"

namespace weft {

class DemandPolicy {
  public:
    // A wait wakes the threads of those who compute when ranks that are merely not in step would
    // have come.
    static constexpr std::int64_t wakes_after_ns = 10'000;

    DemandPolicy(Executor& executor, bool is_wanted);

    bool is_on() const { return is_on_; }

    // --- What this rank demands ---

    // Told to all transports. True: the thread of a peer was woken.
    bool demand(Demand how);
    // A wait has found nothing since `begin_ns`; 0: it has just begun. True: a thread was woken.
    bool escalate(std::int64_t& begin_ns, std::int64_t now);
    // The wait has ended. (Not by its deadline: note_timeout().)
    void end_wait() {
        if (demands_ && !demands_outside_) demand(Demand::none);
    }
    // The program may wait in many short waits; each may be too short to demand anything.
    void note_timeout();

    // The program waits outside of the library from now on; or not any more. `is_led`: a wait is
    // going on, whose demand stays.
    void begin_outside();
    void end_outside(bool is_led);
    bool demands_outside() const { return demands_outside_; }

    // --- How the program looks for what it waits for ---

    // It tests, in this call.
    void begin_test();
    // It does not, and waits for everything in one call, or in a sleep of its own: that does not
    // need the thread to be woken for all that comes.
    void note_no_polling() { polls_with_test_ = false; }
    // The test of this call has found nothing so far.
    bool test_is_in_vain() const {
        return has_tested_ && executor_.finished() == finished_before_test_;
    }
    void demand_by_testing(std::int64_t now);
    // A call ends: unless it was a test in vain, the program does not wait by testing.
    void end_call(bool is_led);
    // While a function of the program runs, other calls come and go.
    bool has_tested() const { return has_tested_; }
    void set_tested(bool has_tested) { has_tested_ = has_tested; }

    // --- Whether this rank works before it is demanded ---

    // Whether some rank waits for this rank's work; without demands, all are taken to wait.
    bool is_demanded() const;
    // Whether only demands wake this sleeper.
    bool arms_on_demand(Sleeper sleeper) const {
        // (A program that waits outside has demanded what it lacks, even if it has tested before.)
        return is_on_ && sleeper == Sleeper::thread && (!polls_with_test_ || demands_outside_) &&
               !executor_.is_eager();
    }

  private:
    Executor& executor_;
    const bool is_on_;
    bool demands_ = false;           // the transports were told so
    bool demands_outside_ = false;   // ... also for runs that are awaited outside
    bool has_tested_ = false;        // in this call
    bool waits_by_testing_ = false;  // what it lacks was demanded
    // Since its last wait it has tested: everything wakes its thread.
    bool polls_with_test_ = false;
    std::uint64_t finished_before_test_ = 0;
    std::int64_t tested_ns_ = 0;  // when the program began to wait by testing
};

}  // namespace weft
