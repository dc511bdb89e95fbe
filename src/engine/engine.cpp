#include "engine/engine.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/cancellation.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/thread.h"

namespace weft {
namespace {

// How long a wait spins before it sleeps; adapted to recent waits within these limits.
constexpr std::int64_t spin_min_ns = 5'000;
constexpr std::int64_t spin_max_ns = 100'000;
// Polls between two looks at the clock. The first ones after something moved have no pause: the
// next message of a short operation may already be on its way between two caches.
constexpr int polls_per_look = 32;
// A program that waited within this time after its last start will probably do so again. A start
// then polls this often before it returns: a short operation may complete before its wait is
// called.
constexpr std::uint64_t hasty_ticks = 3'000;
constexpr int hasty_polls = 16;
// ... but no longer than this: over a network the answer takes longer, and each poll is a system
// call.
constexpr std::uint64_t lingering_ticks = 3'000;
// A call moves what it can, but leaves more than a few pieces of each peer's large message to the
// sleeper.
constexpr int rounds_before_leaving = 8;
// The progress thread does not spin, except within a large message: there it spins about as long as
// falling asleep and waking up would take.
constexpr std::int64_t thread_spin_ns = 20'000;
// A program that only calls test sees a peer's death within this time.
constexpr std::int64_t look_every_ns = 1'000'000;
// A wait shows that it lacks something after twice polls_per_look fruitless polls, and wakes the
// threads of those who compute (DemandPolicy::wakes_after_ns). Then it spins until one that was
// woken should have begun.
constexpr std::int64_t spin_after_waking_ns = 80'000;
// A suspended wait whose deadline has passed drives as long as something moves, and so does a look
// after a signal: no other comes for what is left. But no longer than this: others may always have
// something that moves.
constexpr int rounds_before_giving_up = 1'000;
constexpr int timeout_parts = 4;
// Where spinning would take a core from another rank, a wait yields this often instead.
constexpr int yields_before_sleep = 4;

// A thread of an engine, not the program's.
thread_local bool is_engine_thread = false;

bool is_past(std::int64_t deadline_ns) {
    return deadline_ns != Engine::no_deadline && now_ns() >= deadline_ns;
}

}  // namespace

Engine::Engine(Executor& executor, Options options, std::unique_ptr<Parking> parking)
    : executor_(executor),
      offload_(executor.offload()),
      kind_(options.kind),
      may_spin_(options.may_spin),
      thread_may_spin_(options.progress_place.is_set_aside() ? options.progress_place.has_own_core
                                                             : options.may_spin),
      demands_(executor, options.on_demand),
      sleepers_(executor, demands_, std::move(parking)),
      timeout_ns_(options.timeout_ns),
      spin_ns_(spin_max_ns / 4),
      progress_place_(std::move(options.progress_place)) {
    if (offload_ != nullptr) offload_->set_engine(traits(kind()));
    executor_.set_exclusion(*this);
}

Engine::~Engine() {
    lock();
    change_kind(EngineKind::manual);
    // Pending operations have no owner any more.
    thread_ends_ = true;
    leave();
    sleepers_.unpark(Sleeper::thread);
    if (thread_.joinable()) thread_.join();
}

void Engine::start(Run& run, Stream& stream, const Binding& binding, OffloadPlan* plan,
                   bool waits) {
    const EngineTraits& engine = traits(kind());
    bool is_offered = false;
    if (offload_ != nullptr && plan != nullptr && engine.offloads) {
        const Group& group = stream.group();
        is_offered =
            run.offer_to(*offload_, *plan,
                         {.members = group.members,
                          .has_dedicated = group.dedicated > 0,
                          .waits = waits,
                          .is_driven = waits_right_after_start_ || sleepers_.leader_is_awake(),
                          .has_thread = !thread_refused_});
    }
    has_started_ = true;
    if (run.has_functions()) [[unlikely]]
        run.set_function_host(UserThreads::for_functions());
    executor_.start(run, stream, binding, is_offered);
    if (is_offered && engine.needs_joiner) executor_.begin_offered(/*as_lists=*/true);
}

// Hands the lock over if somebody waits for it. True: it was given up, and everything may have
// changed.
bool Engine::yield_to_contenders() {
    if (!lock_.is_contended()) return false;
    const std::uint32_t admitted = lock_.admitted();
    unlock();
    lock_.stay_free(admitted);
    lock();
    return true;
}

// A function of the program: whoever waits, tests or starts meanwhile drives.
void Engine::call_without(void (*function)(void*), void* context) {
    const bool led = sleepers_.give_up_lead();
    const bool has_tested = demands_.has_tested();
    if (is_engine_thread) {
        notify_waiters();
        executor_.wake_peers();
        ++threads_in_calls_;
        unlock();
    } else {
        if (led) sleepers_.unpark_followers();
        leave();
    }
    try {
        function(context);
    } catch (abi::__forced_unwind&) {
        // It ends this thread.
        return_from_call(led, has_tested);
        throw;
    }
    return_from_call(led, has_tested);
}

void Engine::return_from_call(bool led, bool has_tested) {
    lock();
    demands_.set_tested(has_tested);
    if (is_engine_thread) --threads_in_calls_;
    // Nothing wakes the leader for the operations behind the function, or demands what they lack.
    sleepers_.unpark_leader();
    if (!led || sleepers_.is_led()) return;
    sleepers_.set_leader(LeaderState::driving);
    sleepers_.disarm();
}

void Engine::call_with(void (*function)(void*), void* context) {
    Hold hold(*this);
    function(context);
}

bool Engine::progress(bool tests) {
    if (sleepers_.armed() == Sleeper::thread && !sleepers_.is_led()) sleepers_.disarm();
    if (!tests) demands_.note_no_polling();
    if (demands_.is_on() && tests && !sleepers_.is_led()) demands_.begin_test();
    const bool moved = executor_.progress();
    if (sleepers_.is_led()) return moved;
    const bool is_vain = demands_.test_is_in_vain();
    if (moved && !is_vain) return true;
    const std::int64_t now = now_ns();
    if (is_vain) demands_.demand_by_testing(now);
    // A peer's death wakes a sleeper, but does not show in a transport's memory: a program that
    // only tests must look now and then.
    if (moved || now - looked_ns_ < look_every_ns) return moved;
    looked_ns_ = now;
    for (CompletionSource* source : executor_.sources()) source->acknowledge(Sleeper::waiter);
    return executor_.progress();
}

std::uint64_t Engine::finished() {
    lock();
    std::uint64_t count = executor_.finished();
    unlock();
    return count;
}

void Engine::add_listener(OutsideListener& listener) {
    listeners_.add(listener);
    serves_outside_ = true;
}

void Engine::await_outside(std::int32_t change) {
    executor_.await_outside(change);
    if (change <= 0) return;
    if (executor_.has_lists() && !sleepers_.thread_looks_at_lists())
        sleepers_.unpark(Sleeper::thread);
    if (!demands_.is_on()) return;
    demands_.begin_outside();
    sleepers_.arm_again();  // the thread may be armed for demands only
}

void Engine::notify_waiters() {
    if (serves_outside_) [[unlikely]] {
        listeners_.tell(executor_.has_confined());
        if (demands_.demands_outside() && !executor_.is_awaited_outside())
            demands_.end_outside(sleepers_.is_led());
        serves_outside_ = demands_.demands_outside() || !listeners_.is_empty();
    }
    // Only the program's threads may do what is left.
    if (sleepers_.leader_sleeps() && executor_.has_confined()) [[unlikely]]
        sleepers_.unpark(Sleeper::waiter);
    if (!sleepers_.take_news(executor_.happened(), [this] { return executor_.has_work(); })) return;
    if (listeners_.signalled_thread() != 0) [[unlikely]]
        listeners_.signal();
    sleepers_.unpark_followers();
    sleepers_.unpark_leader();
}

// After a start of a hasty program: an operation that completes here needs no sleeper.
void Engine::linger() {
    std::uint64_t begin = ticks();
    for (int polls = 0; polls < hasty_polls && executor_.is_pending(); ++polls) {
        if (ticks() - begin > lingering_ticks) break;
        executor_.progress(Callable::none);
        notify_waiters();
    }
}

void Engine::leave() {
    notify_waiters();
    const EngineTraits& engine = traits(kind());
    const bool started_here = std::exchange(has_started_, false);
    if (engine.has_sleeper && started_here) {
        // Who starts again, with nothing completed in between, does not wait for each operation.
        if (waits_right_after_start_ && !sleepers_.is_led() &&
            !std::exchange(polled_after_start_, true))
            linger();
        left_ticks_ = ticks();
        wake_for_offload();
    }
    // Asked again only after something has moved: the answer takes a look at every source.
    bool is_needed = needs_attention();
    const bool has_lists = executor_.needs_list_owner();
    const bool needs_thread =
        engine.has_poller ? executor_.is_pending() : is_needed || (engine.has_sleeper && has_lists);
    if (needs_thread) ensure_thread(/*polls=*/engine.has_poller);
    bool calls_owner = false;
    if (has_lists) {
        calls_owner = !sleepers_.leader_is_awake() && submit_or_call_owner();
        is_needed = needs_attention();
    }
    if (demands_.is_on()) [[unlikely]]
        demands_.end_call(sleepers_.is_led());
    // Who is not demanded leaves what is large until somebody waits for it. (Asked for when it
    // matters: the answer takes a look at every peer.)
    std::optional<bool> answer;
    const auto demanded = [&] {
        if (!answer) answer = sleepers_.is_led() || demands_.is_demanded();
        return *answer;
    };
    bool backoff_too_long = false;
    if (sleepers_.backs_off() && started_here) backoff_too_long = sleepers_.backoff.end_long_one();
    bool moves = false;
    for (int rounds = 0;; ++rounds) {
        const Sleeper sleeper = sleepers_.in_charge(is_needed);
        // No wake-up comes for work that a start has left: arm() looks at that too, and demands
        // what it lacks for those who wait for this rank.
        const auto is_left = [&] {
            return ((sleepers_.arming() == Arming::on_demand && started_here) ||
                    executor_.has_work()) &&
                   demanded();
        };
        const auto is_armed_well = [&] {
            return sleepers_.arming() != Arming::rung && !is_left() &&
                   (sleepers_.arming() == Arming::on_demand) == demands_.arms_on_demand(sleeper);
        };
        if (sleeper == sleepers_.armed() && (sleeper == Sleeper::none || is_armed_well())) break;
        if (rounds == 0) moves = executor_.has_work() && demanded();
        const bool is_last =
            rounds == rounds_before_leaving || executor_.has_ready() || lock_.is_contended();
        if ((is_last || !moves) && sleepers_.arm(sleeper)) break;
        if (is_last) {
            // (Without a sleeper, after a change of engine, the program or a poller will call.)
            if (sleeper != Sleeper::none) sleepers_.unpark(sleeper);
            break;
        }
        sleepers_.disarm();
        moves = executor_.progress(Callable::none);
        notify_waiters();
        is_needed = needs_attention();
    }
    const bool leaves_work =
        sleepers_.is_armed() && executor_.has_ready() && (demanded() || demands_.is_demanded());
    const Sleeper to_wake = leaves_work ? sleepers_.armed() : Sleeper::none;
    // Nothing arrives that would end a long backoff or begin the first one: wake the sleeper.
    if (sleepers_.backs_off() && sleepers_.is_armed() &&
        (backoff_too_long || sleepers_.thread_needs_backoff())) {
        sleepers_.unpark(sleepers_.armed());
    }
    // Lists may have become ready to submit here, too.
    calls_owner |= !sleepers_.leader_is_awake() && submit_or_call_owner();
    const bool yields = executor_.wake_peers() && started_here && demands_.is_on() && !may_spin_ &&
                        !executor_.is_eager();
    if (sleepers_.awaits_drain()) notify_waiters();
    unlock();
    // The thread of a peer was woken, and some rank waits for what it does. It may be on this core,
    // and the scheduler does not let it run at once if it owes this one time, which it does after
    // others have computed: until the next tick, up to 4 ms later (decision 10).
    if (yields) [[unlikely]]
        sleepers_.parking().yield();
    // After unlock(): woken earlier, the thread would block on the lock at once, and the scheduler
    // would make it wait for its next turn.
    if (calls_owner) sleepers_.unpark(Sleeper::thread);
    if (to_wake != Sleeper::none) [[unlikely]]
        sleepers_.unpark(to_wake);
}

// The ring is opened when lists are first started: a thread that fell asleep before does not watch
// it.
void Engine::wake_for_offload() {
    if (offload_ == nullptr) return;
    const int fd = offload_->wait_fd(Sleeper::waiter);
    if (std::exchange(offload_fd_, fd) == fd) return;
    sleepers_.unpark_leader();
    sleepers_.unpark(Sleeper::thread);
}

// Submits lists if this thread may own them. False: the progress thread must be woken to do it.
bool Engine::submit_here() {
    if (!executor_.has_offered() && offload_->may_own()) {
        offload_->submit();
        return true;
    }
    if (!ensure_thread(/*polls=*/false)) executor_.begin_offered(/*as_lists=*/false);
    return std::exchange(owner_called_, true);
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

// --- User-level threads --------------------------------------------------------------------------

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
        leave();
        threads.suspend();
        lock();
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
    const bool has_sleeper =
        !stopping_ && thread_.joinable() && sleepers_.armed() == Sleeper::thread;
    const bool is_driven =
        how == Look::if_due && (sleepers_.is_led() || (!stopping_ && poller_.joinable()) ||
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
    leave();
    if (how == Look::now) {
        // leave() may have driven: no signal comes for what has ended there, and the next look may
        // be far away.
        lock();
        resumed |= look(threads);
        unlock();
    }
    if (!moved && !resumed) threads.looked_in_vain(begin, ticks());
    return resumed;
}

// Whether what arrives should wake the progress thread. What comes for lists sends its signal
// before the kernel has taken it: so that thread sends another one.
bool Engine::needs_attention() const {
    if (!traits(kind()).has_sleeper) return false;
    return executor_.needs_attention() ||
           (listeners_.signalled_thread() != 0 && executor_.has_lists());
}

Status Engine::signal_arrivals(int signal) {
    const int thread = gettid();
    if (listeners_.signalled_thread() != 0 && listeners_.signalled_thread() != thread)
        return failure(WEFT_REFUSED_STATE, "what arrives signals another thread; expected none");
    for (const Transport* route : executor_.routes()) {
        if (signal == 0 || route == nullptr || route->abilities().can_signal) continue;
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "what arrives over transport %s sends no signals; expected tcp to all ranks",
                       route->name());
    }
    for (Transport* transport : executor_.transports()) transport->signal_arrivals(signal, thread);
    listeners_.set_signal(signal, thread);
    serves_outside_ = true;
    return ok;
}

void Engine::sleep_for(UserThreads& threads) {
    Hold hold(*this);
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
        // A deadline has passed since the last look; or one of a wait that had ended before, and
        // none of these.
        if (status == WEFT_TIMED_OUT) resumed |= look(threads);
    }
}

// --- Waits that block ----------------------------------------------------------------------------

// True: something moved, and everything may have changed.
bool Engine::poll_extra(const Patience& patience) {
    if (patience.extra == nullptr) [[likely]]
        return false;
    unlock();
    const bool moved = patience.extra->poll();
    lock();
    return moved;
}

// What can only be polled is polled again after a backoff.
std::int64_t Engine::end_of_sleep(const Patience& patience) {
    if (patience.extra == nullptr) return patience.deadline_ns;
    return std::min(patience.deadline_ns, now_ns() + sleepers_.backoff.next_ns());
}

// Gives up the lock within its scope, also if that is left because the thread ends.
class Engine::Released {
  public:
    explicit Released(Engine& engine) : engine_(engine) { engine_.unlock(); }
    ~Released() { engine_.lock(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

  private:
    Engine& engine_;
};

// (A blocking call has a request that nobody else would complete. User-level threads:
// engine/user_threads.h)
bool Engine::may_be_cancelled(const Patience& patience) {
    return patience.interruptible && !UserThreads::attached;
}

// Gives up the lock until the leader notifies this thread.
void Engine::follow(const Patience& patience) {
    notify_waiters();
    executor_.wake_peers();
    // This thread may have started something that the leader must do, and no wake-up comes for it;
    // or of which the leader has not demanded what it lacks.
    const bool has_started = demands_.is_on() && has_started_;
    if (sleepers_.leader_sleeps() &&
        (executor_.has_work() || executor_.has_confined() || has_started))
        sleepers_.unpark(Sleeper::waiter);
    wake_for_offload();
    if (sleepers_.leader_sleeps() && submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
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

// Whether a wait sleeps until the progress thread, on a core set aside, has finished its operation.
// A waiter on a core that other ranks compute on would have to be scheduled there before it could
// drive.
bool Engine::may_rest() const {
    return progress_place_.is_set_aside() && !may_spin_ && !sleepers_.backs_off() &&
           traits(kind()).has_sleeper && !stopping_ && thread_.joinable();
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
    weft_status status = WEFT_OK;
    if (traits(kind()).has_sleeper && !has_started_) {
        waits_right_after_start_ = may_spin_ && ticks() - left_ticks_ < hasty_ticks;
    }
    sleepers_.disarm();
    std::int64_t spin_begin_ns = 0;
    int polls = 0;
    int yields = 0;
    bool slept = false;
    std::int64_t woke_ns = 0;  // when threads of peers were woken
    const std::int64_t spin_until_demand_ns = demands_.is_on() ? DemandPolicy::wakes_after_ns : 0;
    while (true) {
        if (executor_.has_offered() && !offload_->offers_all())
            executor_.begin_offered(/*as_lists=*/false);
        sleepers_.set_leader(LeaderState::driving);
        bool moved = executor_.progress();
        if (!sleepers_.end_driving()) {
            notify_waiters();
            return WEFT_PENDING;
        }
        moved |= poll_extra(patience);
        if (submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
        if (sleepers_.has_followers() || serves_outside_) notify_waiters();
        if (done(context)) break;
        if (is_past(patience.deadline_ns)) {
            status = WEFT_TIMED_OUT;
            break;
        }
        bool yielded = yield_to_contenders();
        if (moved) {
            sleepers_.backoff.end();
            polls = yields = 0;
            spin_begin_ns = 0;
            continue;
        }
        if (yielded) {
            if (demands_.is_on()) demands_.escalate(spin_begin_ns, now_ns());
            continue;
        }
        if (sleepers_.backoff.has_begun()) {
            if (++polls < Backoff::polls_between) continue;
            polls = 0;
        } else if (may_spin_) {
            if (spin_begin_ns != 0) cpu_relax();
            if (++polls < polls_per_look) continue;
            polls = 0;
            std::int64_t now = now_ns();
            const std::int64_t spun_ns = spin_begin_ns == 0 ? 0 : now - spin_begin_ns;
            if (demands_.is_on() && spin_begin_ns != 0 && demands_.escalate(spin_begin_ns, now))
                woke_ns = now;
            if (spin_begin_ns == 0) spin_begin_ns = now;
            // A backoff does not measure how long a sleep would have been.
            if (spun_ns < (sleepers_.backs_off() ? spin_max_ns
                                                 : std::max(spin_ns_, spin_until_demand_ns)) ||
                now - woke_ns < spin_after_waking_ns)
                continue;
        } else if (!may_rest() && yields++ < yields_before_sleep) {
            // On a busy core each takes as long as others compute.
            if (demands_.is_on()) demands_.escalate(spin_begin_ns, now_ns());
            unlock();
            sleepers_.parking().yield();
            lock();
            continue;
        }
        if (patience.interruptible && take_interrupt()) {
            status = WEFT_INTERRUPTED;
            break;
        }
        // The progress thread was here meanwhile.
        if (executor_.has_confined()) [[unlikely]]
            continue;
        if (demands_.is_on()) demands_.demand(Demand::wakes);
        std::int64_t sleep_begin_ns = now_ns();
        const bool rests = may_rest();
        if (sleepers_.arm(rests ? Sleeper::thread : Sleeper::waiter)) {
            sleepers_.set_leader(rests ? LeaderState::resting : LeaderState::asleep);
            if (executor_.has_work()) sleepers_.await_drain();
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
        std::int64_t slept_ns = now_ns() - sleep_begin_ns;
        spin_ns_ = std::clamp(slept_ns < spin_max_ns ? spin_ns_ * 2 : spin_ns_ / 2, spin_min_ns,
                              spin_max_ns);
        slept = true;
        spin_begin_ns = 0;
        yields = 0;
    }
    if (!slept && spin_ns_ < spin_max_ns / 4) spin_ns_ *= 2;
    if (status == WEFT_TIMED_OUT && demands_.is_on())
        demands_.note_timeout();
    else
        demands_.end_wait();
    // (A blocking call does not show how the program waits for nonblocking ones.)
    if (patience.interruptible) demands_.note_no_polling();
    sleepers_.set_leader(LeaderState::none);
    sleepers_.unpark_followers();
    return status;
}

// Gives up the lock until the transports or another thread of this process have something for
// `sleeper`, or until the deadline.
void Engine::sleep(Sleeper sleeper, std::int64_t deadline_ns, bool may_be_cancelled) {
    executor_.wake_peers();
    if (sleepers_.awaits_drain() && sleeper == Sleeper::thread) notify_waiters();
    const Sleepers::Sleep planned = sleepers_.begin_sleep(sleeper, deadline_ns);
    Parking::Woken woken;
    {
        const Released released(*this);
        const CancellableSleep cancellable(may_be_cancelled);
        woken = planned.park(sleepers_.parking());
    }
    sleepers_.end_sleep(sleeper, woken);
}

void Engine::interrupt() {
    interrupted_.store(true, std::memory_order_relaxed);
    sleepers_.unpark(Sleeper::waiter);
}

void Engine::set_kind(EngineKind kind) {
    std::lock_guard one_change(kind_mutex_);
    if (kind == this->kind()) return;
    lock();
    change_kind(kind);
    leave();
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
    stopping_ = true;
    poller_ends_ = true;
    thread_ends_ = !traits(kind).has_sleeper && !owns_lists;
    const bool thread_ends = thread_ends_;
    if (sleepers_.leader_rests()) sleepers_.unpark(Sleeper::waiter);
    unlock();
    if (poller_.joinable()) poller_.join();
    sleepers_.unpark(Sleeper::thread);
    if (thread_ends && thread_.joinable()) thread_.join();
    lock();
    stopping_ = poller_ends_ = thread_ends_ = false;
    thread_refused_ = false;
}

// Starts the progress thread if it does not run; called with the lock held. False: there is none.
// If memory was lacking, the next call tries again.
bool Engine::ensure_thread(bool polls) {
    Thread& thread = polls ? poller_ : thread_;
    // change_kind() joins the thread without the lock: do not touch it meanwhile.
    if (stopping_) return true;
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
    if (!stopping_ && !(polls ? poller_ends_ : thread_ends_)) {
        (polls ? poller_ : thread_).detach();
        ensure_thread(polls);
    }
    unlock();
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

void Engine::thread_main() {
    request_short_slice();
    request_more_weight();
    std::uint64_t pieces = 0;
    std::int64_t piece_ns = 0;  // when the last piece of a large message moved
    is_progress_thread = is_engine_thread = true;
    lock();
    while (!thread_ends_) {
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
        bool drives = !sleepers_.leader_is_awake();
        const bool demanded = demands_.is_demanded();
        bool moved = false;
        for (int polls = sleepers_.backoff.has_begun() ? Backoff::polls_between : 1;
             polls > 0 && !moved; --polls) {
            moved = drives && executor_.is_pending() && executor_.progress(Callable::unconfined);
        }
        if (moved) sleepers_.backoff.end();
        notify_waiters();
        // (What a wait in weft_finalize has left is no run.)
        if (sleepers_.in_charge(needs_attention()) == Sleeper::thread) {
            if (pieces != executor_.pieces_moved()) {
                pieces = executor_.pieces_moved();
                piece_ns = now_ns();
            }
            if (demanded && (moved || (thread_may_spin_ && now_ns() - piece_ns < thread_spin_ns))) {
                yield_to_contenders();
                continue;
            }
            // A demand may have come since; the transports do not know of pieces that are left
            // here.
            const bool may_sleep = sleepers_.arm(Sleeper::thread) &&
                                   !(executor_.has_ready() && demands_.is_demanded());
            if (!may_sleep) {
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
    while (!poller_ends_) {
        if (executor_.is_pending()) executor_.progress(Callable::unconfined);
        // Of an engine before this one.
        if (submit_or_call_owner()) sleepers_.unpark(Sleeper::thread);
        if (executor_.active() == 0) executor_.wake_peers();
        notify_waiters();
        if (yield_to_contenders()) continue;
        unlock();
        if (!thread_may_spin_) sleepers_.parking().yield();
        lock();
    }
    unlock();
}

}  // namespace weft
