// The engine's own threads, and changes of the engine's kind, which begin and end them.
#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/cancellation.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/thread.h"
#include "engine/engine.h"

namespace weft {
namespace {

// The progress thread does not spin, except within a large message: there it spins about as long as
// falling asleep and waking up would take.
constexpr std::int64_t thread_spin_ns = 20'000;

}  // namespace

void Engine::set_kind(EngineKind kind) {
    std::lock_guard one_change(kind_mutex_);
    if (kind == this->kind()) return;
    before_call();
    change_kind(kind);
    after_call();
}

void Engine::end_threads(std::int64_t patience_ns) {
    if (is_engine_thread) return;
    const std::int64_t deadline_ns = now_ns() + patience_ns;
    std::unique_lock one_change(kind_mutex_, std::try_to_lock);
    while (!one_change) {
        if (now_ns() >= deadline_ns) return;
        sched_yield();
        one_change.try_lock();
    }
    bool held = false;
    {
        const HandoverLock::Contender wants_it(lock_);
        held = lock_.try_lock();
        while (!held && now_ns() < deadline_ns) {
            sched_yield();
            held = lock_.try_lock();
        }
        // A function of the program may run for as long as it likes.
        while (held && threads_in_calls_ > 0 && now_ns() < deadline_ns) {
            unlock();
            sched_yield();
            lock();
        }
    }
    if (!held) return;
    if (threads_in_calls_ > 0) return unlock();
    change_kind(EngineKind::manual);
    thread_refused_ = true;
    sleepers_.arm(Sleeper::none);
    // No progress here: main's variables, and buffers among them, are gone if it has returned.
    unlock();
}

// Called with the lock held, which it releases meanwhile. Ends the thread of the old engine; that
// of `kind` starts when something is pending. A thread that owns lists stays until the next change.
void Engine::change_kind(EngineKind kind) {
    kind_.store(kind, std::memory_order_relaxed);
    const bool owns_lists = executor_.has_lists();
    if (offload_ != nullptr) offload_->set_engine(traits(kind));
    const bool thread_ends = !traits(kind).has_sleeper && !owns_lists;
    change_ = thread_ends ? Change::threads_end : Change::poller_ends;
    if (sleepers_.leader_rests()) sleepers_.unpark(Sleeper::waiter);
    unlock();
    if (poller_.joinable()) poller_.join();
    sleepers_.unpark(Sleeper::thread);
    if (thread_ends && thread_.joinable()) thread_.join();
    lock();
    change_ = Change::none;
    thread_refused_ = false;
}

// Starts the progress thread if it does not run; called with the lock held. False: there is none.
// If memory was lacking, the next call tries again.
bool Engine::ensure_thread(bool polls) {
    Thread& thread = polls ? poller_ : thread_;
    // change_kind() joins the thread without the lock: do not touch it meanwhile.
    if (change_ != Change::none) return true;
    if (thread_refused_ || thread.joinable()) return !thread_refused_;
    int error = 0;
    try {
        error = thread.start([this, polls] {
            const Uncancelled uncancelled;
            pthread_setname_np(pthread_self(), "weft-progress");
            go_to_progress_cores();
            try {
                if (polls) {
                    thread_poll_main();
                } else {
                    thread_main();
                }
            } catch (abi::__forced_unwind&) {
                replace_thread(polls);
                throw;
            }
        });
    } catch (const std::bad_alloc&) {
        // There is none yet.
    }
    if (error != 0) {
        thread_refused_ = true;
        std::fprintf(stderr,
                     "weft: cannot start the progress thread (%s); operations advance only inside "
                     "Weft's calls\n",
                     std::strerror(error));
    }
    return thread.joinable();
}

// A function of the program has ended the calling thread, which still holds the lock.
void Engine::replace_thread(bool polls) {
    if (change_ == Change::none) {
        (polls ? poller_ : thread_).detach();
        ensure_thread(polls);
    }
    release();
}

// In the progress thread.
void Engine::go_to_progress_cores() {
    try {
        if (progress_place_.cores.empty() || bind_to(progress_place_.cores)) return;
        std::fprintf(stderr, "weft: the progress thread cannot run on cores %s: %s\n",
                     cores_text(progress_place_.cores).c_str(), std::strerror(errno));
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "weft: the progress thread cannot be bound to cores: out of memory\n");
    }
}

// The progress thread drives. True: something moved.
bool Engine::drive_as_thread() {
    const int polls = sleepers_.backoff.has_begun() ? Backoff::polls_between : 1;
    for (int i = 0; i < polls; ++i) {
        if (!executor_.is_pending() || !executor_.progress(Callable::unconfined)) continue;
        sleepers_.backoff.end();
        return true;
    }
    return false;
}

void Engine::thread_main() {
    request_short_slice();
    request_more_weight();
    std::uint64_t pieces = 0;
    std::int64_t piece_ns = 0;  // when the last piece of a large message moved
    is_progress_thread = is_engine_thread = true;
    lock();
    while (change_ != Change::threads_end) {
        owner_called_ = false;
        if (executor_.needs_list_owner()) {
            executor_.begin_offered(/*as_lists=*/true);
            offload_->submit();
        }
        // The thread may only be kept for the lists that it owns.
        if (!traits(kind()).has_sleeper) {
            sleep(Sleeper::none, no_deadline);
            continue;
        }
        // Drive even if a leader sleeps: the end of a peer wakes both sleepers, but only one of
        // them gets to see it.
        const bool drives = !sleepers_.leader_is_awake();
        const bool is_demanded = demands_.is_demanded();
        const bool moved = drives && drive_as_thread();
        notify_waiters();
        // (What a wait in weft_finalize has left is no run.)
        if (sleepers_.in_charge(needs_attention()) == Sleeper::thread) {
            if (pieces != executor_.pieces_moved()) {
                pieces = executor_.pieces_moved();
                piece_ns = now_ns();
            }
            const bool goes_on =
                moved || (thread_may_spin_ && now_ns() - piece_ns < thread_spin_ns);
            // A demand may have come since; the transports do not know of pieces that are left
            // here.
            if ((is_demanded && goes_on) || !sleepers_.arm(Sleeper::thread) ||
                (executor_.has_ready() && demands_.is_demanded())) {
                yield_to_contenders();
                continue;
            }
        } else if (!sleepers_.is_led()) {
            sleepers_.disarm();
        }
        sleep(Sleeper::thread, no_deadline);
    }
    unlock();
}

void Engine::thread_poll_main() {
    is_engine_thread = true;
    lock();
    while (change_ == Change::none) {
        if (executor_.is_pending()) executor_.progress(Callable::unconfined);
        // Of an engine before this one.
        if (submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
        if (executor_.active() == 0) executor_.wake_peers();
        if (yield_to_contenders()) continue;
        release();
        if (!thread_may_spin_) sleepers_.parking().yield();
        lock();
    }
    unlock();
}

}  // namespace weft
