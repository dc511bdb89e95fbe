// How the threads of a process sleep, and how they are woken: the transports are armed for one
// sleeper at a time, threads park (engine/parking.h), and what can only be polled is polled after a
// backoff. Who sleeps is in SleepState.
//
// Thread safety: none; the engine's lock covers it, but for parking().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/demand_policy.h"
#include "engine/parking.h"
#include "engine/sleep_state.h"
#include "run/executor.h"

namespace weft {

// The pause between two polls of what can only be polled. It grows by an eighth while nothing
// moves: waiting takes a bounded share of a core, and a message is seen late by a bounded share of
// the time it was waited for.
class Backoff {
  public:
    // One call of an MPI does not look at everything.
    static constexpr int polls_between = 8;

    // The last pause was one of these; else something has moved since.
    bool has_begun() const { return last_ns_ > 0; }
    std::int64_t next_ns() {
        return last_ns_ = std::clamp(last_ns_ + last_ns_ / 8, min_ns, max_ns);
    }
    void end() { last_ns_ = 0; }
    // True: a sleeper would not look for long.
    bool end_long_one() { return std::exchange(last_ns_, 0) > 4 * min_ns; }

  private:
    static constexpr std::int64_t min_ns = 50'000;
    // Waking up takes 60 us of an otherwise idle core.
    static constexpr std::int64_t max_ns = 30'000'000;

    std::int64_t last_ns_ = 0;
};

class Sleepers : public SleepState {
  public:
    Sleepers(Executor& executor, const DemandPolicy& demands, std::unique_ptr<Parking> parking);

    Parking& parking() const { return *parking_; }
    void unpark(Sleeper sleeper) { parking_->unpark(sleeper); }
    void unpark_leader() {
        if (leader_sleeps()) parking_->unpark(Sleeper::waiter);
    }
    void unpark_followers() {
        if (has_followers()) parking_->unpark_followers();
    }

    // Arms all transports for this sleeper. False: something has come already, drive first.
    bool arm(Sleeper sleeper);
    // Suppress wake-ups: a thread drives now, and finds what comes itself.
    void disarm() {
        if (is_armed()) arm(Sleeper::none);
    }

    // Some transport can only be polled: a sleeper wakes up by itself.
    bool backs_off() const { return backs_off_; }
    Backoff backoff;
    // The progress thread sleeps without a backoff, though its sleeper needs one from now on.
    bool thread_needs_backoff() const { return armed() == Sleeper::thread && !thread_backs_off_; }
    bool thread_looks_at_lists() const { return thread_looks_at_lists_; }

    // One sleep: begin_sleep() with the lock, parking().park() without, end_sleep() with it again.
    // `sleeper`: none: the progress thread, which only keeps its lists. `deadline_ns`: on the
    // monotonic clock; Parking::forever: none.
    struct Sleep {
        Sleeper parked = Sleeper::none;
        std::array<int, 7> descriptors{};
        std::size_t count = 0;
        std::int64_t timeout_ns = Parking::forever;

        Parking::Woken park(Parking& parking) const {
            return parking.park(parked, std::span(descriptors).first(count), timeout_ns);
        }
    };
    Sleep begin_sleep(Sleeper sleeper, std::int64_t deadline_ns);
    void end_sleep(Sleeper sleeper, Parking::Woken woken);

  private:
    Executor& executor_;
    const DemandPolicy& demands_;
    const bool backs_off_;
    bool thread_backs_off_ = false;
    bool thread_looks_at_lists_ = false;
    const std::unique_ptr<Parking> parking_;
};

}  // namespace weft
