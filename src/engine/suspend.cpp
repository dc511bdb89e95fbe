// Waits of user-level threads: they are suspended, and the scheduler's thread looks for their ends.
#include <algorithm>

#include "base/clock.h"
#include "engine/engine.h"

namespace weft {
namespace {

// A suspended wait whose deadline has passed drives as long as something moves, and so does a look
// after a signal: no other comes for what is left. But no longer than this: others may always have
// something that moves.
constexpr int rounds_before_giving_up = 1'000;
constexpr int timeout_parts = 4;

}  // namespace

weft_status Engine::suspend(UserThreads& threads, DonePointer done, void* context,
                            const Patience& patience) {
    if (done(context)) return WEFT_OK;
    progress(/*tests=*/false);
    // A timeout passes in parts, each of which begins when this thread has looked: it is not over
    // because another one has computed for as long, while nobody drove and answers could not come.
    const bool is_bound_by_timeout =
        patience.deadline_ns == no_deadline && timeout_ns_ != no_deadline;
    int parts_left = is_bound_by_timeout ? timeout_parts : 1;
    const auto next_deadline_ns = [&] {
        return is_bound_by_timeout ? now_ns() + timeout_ns_ / timeout_parts : patience.deadline_ns;
    };
    std::int64_t deadline_ns = next_deadline_ns();
    while (!done(context)) {
        if (patience.interruptible && take_interrupt()) return WEFT_INTERRUPTED;
        if (is_past(deadline_ns)) {
            if (drive_what_has_come(done, context)) break;
            if (--parts_left == 0) return WEFT_TIMED_OUT;
            deadline_ns = next_deadline_ns();
        }
        SuspendedWait wait(threads, {.done = done,
                                     .context = context,
                                     .run = patience.run,
                                     .deadline_ns = deadline_ns,
                                     .is_interruptible = patience.interruptible});
        threads.begin(wait);
        after_call();
        threads.suspend();
        before_call();
        if (wait.was_interrupted()) return WEFT_INTERRUPTED;
    }
    return WEFT_OK;
}

// Before a suspended wait gives up: its deadline may have passed while another thread computed and
// nobody drove.
bool Engine::drive_what_has_come(DonePointer done, void* context) {
    for (int rounds = 0; rounds < rounds_before_giving_up; ++rounds) {
        const bool moved = progress(/*tests=*/false);
        if (done(context)) return true;
        if (!moved) break;
        yield_to_contenders();
    }
    return false;
}

// With the lock held. True: threads were resumed.
bool Engine::look(UserThreads& threads) {
    bool resumed = begin_functions(threads);
    resumed |= threads.look(executor_.finished() + wakes_);
    if (threads.has_interruptible() && take_interrupt()) {
        threads.interrupt();
        resumed = true;
    }
    return resumed;
}

bool Engine::begin_functions(UserThreads& threads) {
    bool begun = false;
    while (FunctionCall* const call = threads.first_function()) {
        Run& run = *call->run;
        if (threads.begin(*call)) {
            executor_.begin_function(*call);
            begun = true;
        } else {
            executor_.break_group(run.stream()->group(), executor_.out_of_memory());
        }
    }
    return begun;
}

bool Engine::look_for(UserThreads& threads, Look how) {
    const std::uint64_t begin = ticks();
    if (how == Look::now) {
        lock();
    } else if (!threads.is_time_to_look(begin)) {
        return false;
    } else if (!lock_.try_lock()) {
        // Who holds it drives.
        if (!threads.misses_again()) return false;
        lock();
    }
    // Threads that change are not looked at. A sleeper that is armed is woken for what comes, but
    // not if it works on demand, or over what can only be polled.
    const bool is_changing = change_ != Change::none;
    const bool has_sleeper =
        !is_changing && thread_.joinable() && sleepers_.armed() == Sleeper::thread;
    const bool is_driven =
        how == Look::if_due && (sleepers_.is_led() || (!is_changing && poller_.joinable()) ||
                                (has_sleeper && !demands_.is_on() && !sleepers_.backs_off()));
    bool moved = false;
    if (executor_.is_pending() && (!is_driven || executor_.has_confined())) {
        // Until the next look, others may compute for long.
        int rounds = 0;
        const int most = how == Look::now ? rounds_before_giving_up : rounds_before_leaving;
        while (progress(/*tests=*/threads.has_waits()) && ++rounds < most) {
            moved = true;
            yield_to_contenders();
        }
    }
    bool resumed = look(threads);
    after_call();
    if (how == Look::now) {
        // after_call() may have driven: no signal comes for what has ended there, and the next
        // look may be far away.
        lock();
        resumed |= look(threads);
        release();
    }
    if (!moved && !resumed) threads.looked_in_vain(begin, ticks());
    return resumed;
}

void Engine::sleep_for(UserThreads& threads) {
    call([&] {
        bool resumed = false;
        while (!resumed) {
            const weft_status status =
                wait_until([&] { return resumed |= look(threads); },
                           {.interruptible = threads.has_interruptible(),
                            .deadline_ns = std::min(threads.deadline_ns(), unbounded)});
            if (status == WEFT_INTERRUPTED) {
                threads.interrupt();
                resumed = true;
            }
            // A deadline has passed since the last look; or one of a wait that had ended before,
            // and none of these.
            if (status == WEFT_TIMED_OUT) resumed |= look(threads);
        }
    });
}

}  // namespace weft
