#include "engine/engine.h"

#include <cxxabi.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/clock.h"

namespace weft {
namespace {

// After a start, a program that waits right after its starts polls this often before it leaves: a
// short operation may complete before its wait is called.
constexpr int hasty_polls = 16;
// ... but no longer than this: over a network the answer takes longer, and each poll is a system
// call.
constexpr std::uint64_t lingering_ticks = 3'000;
// A program that only calls test sees a peer's death within this time.
constexpr std::int64_t look_every_ns = 1'000'000;

}  // namespace

Engine::Engine(Executor& executor, Options options, std::unique_ptr<Parking> parking)
    : executor_(executor),
      offload_(executor.offload()),
      kind_(options.kind),
      may_spin_(options.may_spin),
      thread_may_spin_(options.progress_place.is_set_aside() ? options.progress_place.has_own_core
                                                             : options.may_spin),
      thread_may_be_late_(options.on_demand),
      timeout_ns_(options.timeout_ns),
      demands_(executor, options.on_demand),
      sleepers_(executor, demands_, std::move(parking)),
      progress_place_(std::move(options.progress_place)) {
    if (offload_ != nullptr) offload_->set_engine(traits(kind()));
    executor_.set_exclusion(*this);
}

Engine::~Engine() {
    lock();
    change_kind(EngineKind::manual);
    // Pending operations have no owner any more.
    change_ = Change::threads_end;
    after_call();
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

// The thread that was woken to begin lists waits for the core of the computation, up to a tick
// long. A program that tests is here before: the executor carries out all of these runs.
inline void Engine::begin_late_lists() {
    if (thread_may_be_late_ && executor_.has_offered() && !offload_->offers_all()) [[unlikely]]
        executor_.begin_offered(/*as_lists=*/false);
}

bool Engine::progress(bool tests) {
    if (tests) begin_late_lists();
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

// --- The lock changes hands ----------------------------------------------------------------------

// Hands the lock over if somebody waits for it. True: it was given up, and everything may have
// changed.
bool Engine::yield_to_contenders() {
    if (!lock_.is_contended()) return false;
    const std::uint32_t admitted = lock_.admitted();
    release();
    lock_.stay_free(admitted);
    lock();
    return true;
}

// A function of the program: whoever waits, tests or starts meanwhile drives.
void Engine::call_without(void (*function)(void*), void* context) {
    const bool led = sleepers_.give_up_lead();
    const bool has_tested = demands_.has_tested();
    if (is_engine_thread) {
        executor_.wake_peers();
        ++threads_in_calls_;
        release();
    } else {
        if (led) sleepers_.unpark_followers();
        after_call();
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
    call([&] { function(context); });
}

// --- What a call leaves behind -------------------------------------------------------------------

void Engine::notify_waiters() {
    if (serves_outside_) [[unlikely]] {
        listeners_.tell(needs_program());
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

// Whether what arrives should wake the progress thread. What comes for lists sends its signal
// before the kernel has taken it: so that thread sends another one.
bool Engine::needs_attention() const {
    if (!traits(kind()).has_sleeper) return false;
    return executor_.needs_attention() ||
           (listeners_.signalled_thread() != 0 && executor_.has_lists());
}

// Whether what is left, or comes, is for threads of the program alone. (The kind may have changed
// since a descriptor was opened.)
bool Engine::needs_program() const {
    return executor_.has_confined() || !traits(kind()).has_thread() || thread_refused_;
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

inline void Engine::end_start() {
    // Who starts again, with nothing completed in between, does not wait for each operation.
    if (waits_right_after_start_ && !sleepers_.is_led() &&
        !std::exchange(polled_after_start_, true))
        linger();
    left_ticks_ = ticks();
    wake_for_offload();
}

// The leader has demanded what the process lacked when it fell asleep. A run that was started since
// lacks more, and who waits for that run follows, or tests, and demands nothing.
void Engine::demand_for_sleeping_leader() {
    if (demands_.is_on()) demands_.demand(Demand::wakes);
}

// Arms the transports for the thread in charge of what is left. What no wake-up comes for is done
// before, as far as a call may. Returns the sleeper to be woken for the rest of that; none: it need
// not be.
inline Sleeper Engine::arm_for_the_rest(bool has_started, bool is_needed) {
    // Without a pending demand, large transfers are deferred. (Asked for when it matters: the
    // answer takes a look at every peer.)
    std::optional<bool> answer;
    const auto is_demanded = [&] {
        if (!answer) answer = sleepers_.is_led() || demands_.is_demanded();
        return *answer;
    };
    bool moves = false;
    for (int rounds = 0;; ++rounds) {
        const Sleeper sleeper = sleepers_.in_charge(is_needed);
        // No wake-up comes for work that a start has left: arm() looks at that too, and demands
        // what it lacks for those who wait for this rank.
        const auto is_left = [&] {
            return ((sleepers_.arming() == Arming::on_demand && has_started) ||
                    executor_.has_work()) &&
                   is_demanded();
        };
        const auto is_armed_well = [&] {
            return sleepers_.arming() != Arming::rung && !is_left() &&
                   (sleepers_.arming() == Arming::on_demand) == demands_.arms_on_demand(sleeper);
        };
        if (sleeper == sleepers_.armed() && (sleeper == Sleeper::none || is_armed_well())) break;
        if (rounds == 0) moves = executor_.has_work() && is_demanded();
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
        sleepers_.is_armed() && executor_.has_ready() && (is_demanded() || demands_.is_demanded());
    return leaves_work ? sleepers_.armed() : Sleeper::none;
}

void Engine::after_call() noexcept {
    notify_waiters();
    const EngineTraits& engine = traits(kind());
    const bool has_started = std::exchange(has_started_, false);
    if (engine.has_sleeper && has_started) end_start();
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
    const bool ends_long_backoff =
        sleepers_.backs_off() && has_started && sleepers_.backoff.end_long_one();
    const Sleeper to_wake = arm_for_the_rest(has_started, is_needed);
    // Nothing arrives that would end a long backoff or begin the first one: wake the sleeper.
    if (sleepers_.backs_off() && sleepers_.is_armed() &&
        (ends_long_backoff || sleepers_.thread_needs_backoff()))
        sleepers_.unpark(sleepers_.armed());
    // Lists may have become ready to submit here, too.
    calls_owner |= !sleepers_.leader_is_awake() && submit_or_call_owner();
    if (has_started && sleepers_.leader_sleeps()) [[unlikely]]
        demand_for_sleeping_leader();
    const bool yields = executor_.wake_peers() && has_started && demands_.is_on() && !may_spin_ &&
                        !executor_.is_eager();
    release();
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

// --- A program that is outside of the library ----------------------------------------------------

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

void Engine::signal_arrivals_of(Transport& transport) {
    if (const int thread = listeners_.signalled_thread(); thread != 0)
        transport.signal_arrivals(listeners_.signal_number(), thread);
}

}  // namespace weft
