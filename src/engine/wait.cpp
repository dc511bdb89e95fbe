// Waits that block their thread: one leads, drives and sleeps on the transports; the others follow.
#include <cxxabi.h>

#include <algorithm>

#include "base/cancellation.h"
#include "base/clock.h"
#include "engine/engine.h"

namespace weft {
namespace {

// Polls between two looks at the clock. The first ones after something moved have no pause: the
// next message of a short operation may already be on its way between two caches.
constexpr int polls_per_look = 32;
// A program that waited within this time after its last start will probably do so again.
constexpr std::uint64_t hasty_ticks = 3'000;
// A wait shows that it lacks something after twice polls_per_look fruitless polls, and wakes the
// threads of those who compute (DemandPolicy::wakes_after_ns). Then it spins until one that was
// woken should have begun.
constexpr std::int64_t spin_after_waking_ns = 80'000;
// Where spinning would take a core from another rank, a wait yields this often instead.
constexpr int yields_before_sleep = 4;
// A yield that takes longer, a time slice, has given the core to a program that computes. A thread
// that sleeps gets the core back as soon as its message is here, one that yields only when its turn
// comes. So many waits then sleep at once. (Beside a busy program an allreduce of 1 MB of four
// ranks on two cores took 47 ms, takes 6. After 0.5 ms and for 64 waits, ranks that share a core
// with three others, whose yields take that long, had taken 1.2 to 1.5 times as long.)
constexpr std::int64_t long_yield_ns = 2'500'000;
constexpr int waits_without_yields = 16;

}  // namespace

// What a leader does while nothing moves.
struct Engine::Spin {
    std::int64_t begin_ns = 0;  // 0: something has just moved
    std::int64_t woke_ns = 0;   // when threads of peers were woken
    int polls = 0;
    int yields = 0;

    void restart() {
        begin_ns = 0;
        polls = yields = 0;
    }
};

// Gives up the lock within its scope, also if that is left because the thread ends. REQUIRES: those
// who wait were told.
class Engine::Released {
  public:
    explicit Released(Engine& engine) : engine_(engine) { engine_.unlock(); }
    ~Released() { engine_.lock(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

  private:
    Engine& engine_;
};

void Engine::interrupt() {
    interrupted_.store(true, std::memory_order_relaxed);
    sleepers_.unpark(Sleeper::waiter);
}

bool Engine::take_interrupt() {
    return interrupted_.load(std::memory_order_relaxed) && interrupted_.exchange(false);
}

weft_status Engine::wait(DonePointer done, void* context, Patience patience) {
    if (UserThreads* threads = UserThreads::here(); threads && !patience.extra) [[unlikely]]
        return suspend(*threads, done, context, patience);
    if (timeout_ns_ != no_deadline && patience.deadline_ns == no_deadline && !done(context)) {
        patience.deadline_ns = now_ns() + timeout_ns_;
    }
    while (!done(context)) {
        if (!sleepers_.is_led()) {
            const weft_status status = lead(done, context, patience);
            if (status != WEFT_PENDING) return status;
            continue;
        }
        if (patience.interruptible && take_interrupt()) return WEFT_INTERRUPTED;
        if (is_past(patience.deadline_ns)) return WEFT_TIMED_OUT;
        if (poll_extra(patience)) continue;
        follow(patience);
    }
    return WEFT_OK;
}

// (A blocking call has a request that nobody else would complete. User-level threads:
// engine/user_threads.h)
bool Engine::may_be_cancelled(const Patience& patience) {
    return patience.interruptible && !UserThreads::attached;
}

// True: something moved, and everything may have changed.
bool Engine::poll_extra(const Patience& patience) {
    if (patience.extra == nullptr) [[likely]]
        return false;
    release();
    const bool moved = patience.extra->poll();
    lock();
    return moved;
}

// What can only be polled is polled again after a backoff.
std::int64_t Engine::end_of_sleep(const Patience& patience) {
    if (patience.extra == nullptr) return patience.deadline_ns;
    return std::min(patience.deadline_ns, now_ns() + sleepers_.backoff.next_ns());
}

// Gives up the lock until the transports or another thread of this process have something for
// `sleeper`, or until the deadline.
void Engine::sleep(Sleeper sleeper, std::int64_t deadline_ns, bool may_be_cancelled) {
    executor_.wake_peers();
    // (A leader has told others when it polled last. To itself it is no news.)
    if (sleeper != Sleeper::waiter) notify_waiters();
    const Sleepers::Sleep planned = sleepers_.begin_sleep(sleeper, deadline_ns);
    Parking::Woken woken;
    {
        const Released released(*this);
        const CancellableSleep cancellable(may_be_cancelled);
        woken = planned.park(sleepers_.parking());
    }
    sleepers_.end_sleep(sleeper, woken);
}

// --- Followers -----------------------------------------------------------------------------------

// Gives up the lock until the leader notifies this thread.
void Engine::follow(const Patience& patience) {
    const bool owed = executor_.has_work();
    const std::uint64_t happened = executor_.happened();
    executor_.wake_peers();
    if (sleepers_.leader_sleeps() && submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
    notify_waiters();
    // (If a run has ended here, or what was owed is done, this wait may be over.)
    if (happened != executor_.happened() || (owed && !executor_.has_work())) return;
    if (has_started_ && sleepers_.leader_sleeps()) demand_for_sleeping_leader();
    // This thread may have started something that the leader must do, and no wake-up comes for it.
    if (sleepers_.leader_sleeps() && (executor_.has_work() || executor_.has_confined()))
        sleepers_.unpark(Sleeper::waiter);
    wake_for_offload();
    sleepers_.begin_following();
    if (executor_.has_work()) sleepers_.await_drain();
    const std::uint64_t ticket = sleepers_.parking().ticket();
    const std::int64_t end_ns = end_of_sleep(patience);
    try {
        const Released released(*this);
        const CancellableSleep cancellable(may_be_cancelled(patience));
        sleepers_.parking().park_follower(ticket, end_ns);
    } catch (abi::__forced_unwind&) {
        sleepers_.end_following();
        throw;
    }
    sleepers_.end_following();
}

// --- The leader ----------------------------------------------------------------------------------

// Whether a wait sleeps until the progress thread, on a core set aside, has finished its operation.
// A waiter on a core that other ranks compute on would have to be scheduled there before it could
// drive.
bool Engine::may_rest() const {
    return progress_place_.is_set_aside() && !may_spin_ && !sleepers_.backs_off() &&
           traits(kind()).has_sleeper && change_ == Change::none && thread_.joinable();
}

// Also if the thread is cancelled, or a function of the program ends it.
weft_status Engine::lead(DonePointer done, void* context, const Patience& patience) {
    try {
        return drive_until(done, context, patience);
    } catch (abi::__forced_unwind&) {
        if (!sleepers_.give_up_lead()) throw;  // another thread leads since
        demands_.end_wait();
        sleepers_.unpark_followers();
        throw;
    }
}

// The calling thread drives until `done`. Spins first, then sleeps on the transports. WEFT_PENDING:
// another thread leads now.
weft_status Engine::drive_until(DonePointer done, void* context, const Patience& patience) {
    sleepers_.set_leader(LeaderState::awake);
    if (traits(kind()).has_sleeper && !has_started_)
        waits_right_after_start_ = may_spin_ && ticks() - left_ticks_ < hasty_ticks;
    sleepers_.disarm();
    weft_status status = WEFT_OK;
    Spin spin;
    bool slept = false;
    while (true) {
        const Polled polled = poll_as_leader(done, context, patience);
        if (polled == Polled::done) break;
        if (polled == Polled::lost_lead) return WEFT_PENDING;
        if (polled == Polled::timed_out) {
            status = WEFT_TIMED_OUT;
            break;
        }
        if (polled == Polled::moved) {
            sleepers_.backoff.end();
            spin.restart();
            continue;
        }
        if (polled == Polled::handed_over) {
            if (demands_.is_on()) demands_.escalate(spin.begin_ns, now_ns());
            continue;
        }
        if (spins_on(spin)) continue;
        if (patience.interruptible && take_interrupt()) {
            status = WEFT_INTERRUPTED;
            break;
        }
        // The progress thread was here meanwhile.
        if (executor_.has_confined()) [[unlikely]]
            continue;
        sleep_as_leader(patience);
        slept = true;
        spin.restart();
    }
    if (!slept && spin_ns_ < spin_max_ns / 4) spin_ns_ *= 2;
    end_lead(status, patience);
    return status;
}

inline Engine::Polled Engine::poll_as_leader(DonePointer done, void* context,
                                             const Patience& patience) {
    if (executor_.has_offered() && !offload_->offers_all())
        executor_.begin_offered(/*as_lists=*/false);
    sleepers_.set_leader(LeaderState::driving);
    bool moved = executor_.progress();
    if (!sleepers_.end_driving()) {
        notify_waiters();
        return Polled::lost_lead;
    }
    moved |= poll_extra(patience);
    if (submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
    if (sleepers_.has_followers() || serves_outside_) notify_waiters();
    if (done(context)) return Polled::done;
    if (is_past(patience.deadline_ns)) return Polled::timed_out;
    const bool handed_over = yield_to_contenders();
    if (moved) return Polled::moved;
    return handed_over ? Polled::handed_over : Polled::nothing;
}

// A poll has found nothing. True: poll again; false: it is time to sleep.
inline bool Engine::spins_on(Spin& spin) {
    if (sleepers_.backoff.has_begun()) {
        if (++spin.polls < Backoff::polls_between) return true;
        spin.polls = 0;
        return false;
    }
    if (may_spin_) {
        if (spin.begin_ns != 0) cpu_relax();
        if (++spin.polls < polls_per_look) return true;
        spin.polls = 0;
        const std::int64_t now = now_ns();
        const std::int64_t spun_ns = spin.begin_ns == 0 ? 0 : now - spin.begin_ns;
        if (demands_.is_on() && spin.begin_ns != 0 && demands_.escalate(spin.begin_ns, now))
            spin.woke_ns = now;
        if (spin.begin_ns == 0) spin.begin_ns = now;
        // A backoff does not measure how long a sleep would have been.
        std::int64_t spin_ns = sleepers_.backs_off() ? spin_max_ns : spin_ns_;
        if (demands_.is_on()) spin_ns = std::max(spin_ns, DemandPolicy::wakes_after_ns);
        return spun_ns < spin_ns || now - spin.woke_ns < spin_after_waking_ns;
    }
    if (may_rest() || spin.yields++ >= yields_before_sleep) return false;
    if (waits_without_yields_ > 0) {
        --waits_without_yields_;
        return false;
    }
    const std::int64_t begin_ns = now_ns();
    if (demands_.is_on()) demands_.escalate(spin.begin_ns, begin_ns);
    release();
    sleepers_.parking().yield();
    const bool was_long = now_ns() - begin_ns > long_yield_ns;
    lock();
    if (was_long) waits_without_yields_ = waits_without_yields;
    return true;
}

inline void Engine::sleep_as_leader(const Patience& patience) {
    if (demands_.is_on()) demands_.demand(Demand::wakes);
    const std::int64_t begin_ns = now_ns();
    const bool rests = may_rest();
    const bool owed = executor_.has_work();
    const bool is_quiet = sleepers_.arm(rests ? Sleeper::thread : Sleeper::waiter);
    // (If arm() has done what was owed, this wait may be over, or that of a follower.)
    if (is_quiet && (!owed || executor_.has_work())) {
        sleepers_.set_leader(rests ? LeaderState::resting : LeaderState::asleep);
        if (owed) sleepers_.await_drain();
        try {
            sleep(Sleeper::waiter, end_of_sleep(patience), may_be_cancelled(patience));
        } catch (abi::__forced_unwind&) {
            sleepers_.set_leader(LeaderState::driving);  // for lead()
            throw;
        }
        sleepers_.set_leader(LeaderState::awake);
    }
    sleepers_.arm(Sleeper::none);
    if (interrupted_.load(std::memory_order_relaxed)) sleepers_.unpark_followers();
    // After a short sleep spin longer next time, after a long one shorter.
    const std::int64_t slept_ns = now_ns() - begin_ns;
    spin_ns_ =
        std::clamp(slept_ns < spin_max_ns ? spin_ns_ * 2 : spin_ns_ / 2, spin_min_ns, spin_max_ns);
}

inline void Engine::end_lead(weft_status status, const Patience& patience) {
    if (status == WEFT_TIMED_OUT && demands_.is_on())
        demands_.note_timeout();
    else
        demands_.end_wait();
    // (A blocking call does not show how the program waits for nonblocking ones.)
    if (patience.interruptible) demands_.note_no_polling();
    sleepers_.set_leader(LeaderState::none);
    sleepers_.unpark_followers();
}

}  // namespace weft
