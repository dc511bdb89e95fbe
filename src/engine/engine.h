// The progress engine of a process: which thread advances its runs, and when. Its kind can change
// (base/engine_kind.h). Three rooms:
//   - *drive* (this class): the lock, its hand-over, a bounded amount of work in every call;
//   - *sleep* (engine/sleepers.h): for whom the transports are armed, who parks, whom news wakes;
//   - *demand* (engine/demand_policy.h): when this rank demands work, and works before it is asked.
//
// Who holds the lock, who sleeps on what, and what wakes them:
//   1. *Alone in a wait that spins.* The program's thread is the leader: it takes the lock, polls,
//      and gives the lock up to a thread that wants it (where ranks outnumber cores, whenever it
//      yields), and while it runs a function of the program or polls an ExtraSource. The progress
//      thread sleeps; the transports are armed for nobody, so peers make no system call for this
//      rank.
//   2. *Asleep in a wait.* Nobody holds the lock. The leader has demanded what it lacks and armed
//      the transports for itself, and sleeps on their descriptors. Arrivals wake it; so do other
//      threads of the program whose calls leave something to it, and interrupt(). Calls that start
//      something demand what that lacks. The progress thread sleeps on its own descriptors, for
//      which nothing is armed; the end of a peer wakes both. (On a core set aside that thread
//      drives for the leader: the transports are armed for it, and the leader rests until it
//      notifies.)
//   3. *Two waits.* One thread leads as above. The other one follows: it parks without descriptors.
//      Whoever gives the lock up after a run has ended, or after what was owed to peers is done,
//      wakes all followers and a sleeping leader (release()); a leader that ends its wait wakes the
//      followers, one of which leads then.
//   4. *Computing, with a progress thread.* Nobody holds the lock. The last call has armed the
//      transports for the progress thread, if arrivals need one (Executor::needs_attention()); it
//      sleeps on their descriptors, drives when woken, and arms again. The next test or wait
//      disarms.
//   5. *Computing on demand, while another rank waits.* As 4, but armed on demand: only a demand
//      of the rank that waits, or a failure notice, wakes the progress thread. It is armed for all
//      arrivals while the demand is pending; and always over transports that know no demands, and
//      where DemandPolicy::arms_on_demand() says no.
//   6. *Waiting outside, by a descriptor.* The program sleeps on the descriptor of a completion
//      queue, as far from here as if it computed. As 4, for every message. What is lacked was
//      demanded with the mark; later steps are, when the thread arms. Whoever gives the lock up
//      tells the queue (Listeners), which makes its descriptor readable: also if no thread drives
//      any more, after a change of engine.
// A *fiber* that waits holds nothing and sleeps nowhere: it is in a list (engine/user_threads.h).
// The scheduler's thread looks into the list when it switches, and when no fiber can run it waits
// for any of them as a thread would: 1, 2 or 3.
//
// Besides, sleepers wake up by themselves: at deadlines, after a backoff for what can only be
// polled, and now and then for lists (engine/sleepers.h). The progress thread spins within a large
// message, and one of thread:poll never sleeps. While it runs a function of the program, arrivals
// that are left to it wait until that returns, or until a thread of the program drives.
//
// Invariants, when nobody holds the lock:
//   - If no thread of the program is awake in a wait and runs need attention, the transports are
//     armed for the thread that must look (SleepState::in_charge()), or that thread was unparked.
//     (An engine without a progress thread: for nobody, the program will call.)
//   - Listeners know of every run that has ended.
//
// Thread safety: all public functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/engine_kind.h"
#include "base/thread.h"
#include "engine/demand_policy.h"
#include "engine/listeners.h"
#include "engine/lock.h"
#include "engine/parking.h"
#include "engine/sleepers.h"
#include "engine/user_threads.h"
#include "run/executor.h"

namespace weft {

// Where the progress thread of a rank runs.
struct ProgressPlace {
    // It is bound to them; empty: it runs where its rank does.
    std::vector<int> cores{};
    // Those of them on which ranks may compute, or on their hyperthreads.
    std::vector<int> shared{};
    // None is shared, and there is one for each thread that is bound to them.
    bool has_own_core = false;

    bool is_set_aside() const { return !cores.empty() && shared.empty(); }
};

class Engine : private Exclusion {
  public:
    static constexpr std::int64_t no_deadline = Parking::forever;
    // A deadline that does not come: for waits that Options::timeout_ns does not bound either.
    static constexpr std::int64_t unbounded = no_deadline - 1;

    struct Options {
        EngineKind kind = default_engine;
        bool may_spin = true;  // false: there are more ranks than cores
        // The progress thread shares its core with a rank that computes: it may get the core late.
        // For groups whose members are all reached by transports that know demands, it is woken
        // only when a rank waits for what it does.
        bool on_demand = false;
        ProgressPlace progress_place{};
        std::int64_t timeout_ns = no_deadline;  // of waits that have no deadline of their own
    };

    Engine(Executor& executor, Options options,
           std::unique_ptr<Parking> parking = thread_parking());
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // Not 0: the errno with which an eventfd was refused. The engine must not be used.
    int error() const { return sleepers_.parking().error(); }

    const ProgressPlace& progress_place() const { return progress_place_; }
    bool may_spin() const { return may_spin_; }
    // In a call: the executor has another source, or a source has more to sleep on.
    void sources_changed() {
        sleepers_.disarm();
        // A thread that fell asleep before does not watch it.
        sleepers_.unpark_leader();
        sleepers_.unpark(Sleeper::thread);
    }

    EngineKind kind() const { return kind_.load(std::memory_order_relaxed); }
    void set_kind(EngineKind kind);
    // At the end of the process: stops the engine's threads; operations stay pending. Gives up
    // after `patience_ns`: the process may exit within a call that holds the engine.
    void end_threads(std::int64_t patience_ns);

    // --- Calls of the program ---

    // Between these two, a thread of the program has exclusive use of the executor and everything
    // around it. before_call() takes the lock. after_call() does a bounded amount of what is left,
    // arms the transports for the thread in charge of the rest, and gives the lock up.
    void before_call() { lock(); }
    void after_call() noexcept;
    // Both around `body`, whose result it returns; also if an exception leaves it, or the thread
    // ends in it.
    template <class Body>
    auto call(Body body) -> decltype(body());

    // In a call: whether this thread may start runs; if not, why.
    Status check_starter() const { return offload_ != nullptr ? offload_->check_starter() : ok; }
    // In a call: starts a run. `plan`: of its schedule; null: it must not be offloaded.
    // `waits`: the caller waits for it at once.
    void start(Run& run, Stream& stream, const Binding& binding, OffloadPlan* plan, bool waits);
    // The same for a send or receive of the program's.
    void start_message(Run& run, Stream& stream) {
        has_started_ = true;
        executor_.start_message(run, stream);
    }

    // Drive once, in a call. `tests`: the program looks whether something has completed, and
    // may do so again instead of sleeping.
    bool progress(bool tests = true);

    // In a call: the program has completed a request.
    void note_completion() { polled_after_start_ = false; }

    // How many runs have ended. Does not drive.
    std::uint64_t finished();

    // --- Waits ---

    // Something else that a wait drives, such as an MPI underneath, which can only be polled.
    class ExtraSource {
      public:
        // Called without the lock, by the thread that waits. True: something moved.
        virtual bool poll() = 0;

      protected:
        ~ExtraSource() = default;
    };

    // What may end a wait early, and what else it drives.
    struct Patience {
        bool interruptible = true;
        std::int64_t deadline_ns =
            no_deadline;  // on the monotonic clock; none: Options::timeout_ns
        ExtraSource* extra = nullptr;
        // done() becomes true when this run ends, and not before; null: when any run may have.
        Run* run = nullptr;
    };

    // In a call: drives, spins and finally sleeps until `done()` is true, which is called with
    // the lock held. Returns WEFT_OK; or WEFT_INTERRUPTED or WEFT_TIMED_OUT, if `patience` allows
    // it.
    template <class Done>
    weft_status wait_until(Done done, Patience patience) {
        return wait([](void* d) { return (*static_cast<Done*>(d))(); }, &done, patience);
    }

    // In a call: waits must look again, though no run has ended.
    void wake_waiters() {
        sleepers_.make_news(executor_.happened());
        ++wakes_;
    }

    // Makes a wait return WEFT_INTERRUPTED: the current one, or else the next that would block.
    // Async-signal-safe.
    void interrupt();

    // --- User-level threads ---

    // In a call: these user-level threads end. REQUIRES: none of them waits.
    void detach(UserThreads& threads) { executor_.run_functions_inline(threads); }

    // For the scheduler of user-level threads, in its thread, outside of a call. Drives, unless
    // another thread does or the last time is too short ago (Look::if_due), and resumes the threads
    // whose waits have ended. True: there were some.
    enum class Look : std::uint8_t { if_due, now };
    bool look_for(UserThreads& threads, Look how = Look::if_due);
    // Waits until there are some. REQUIRES: one waits.
    void sleep_for(UserThreads& threads);

    // --- A program that is outside of the library ---

    // In a call. May throw; then nothing has happened.
    void add_listener(OutsideListener& listener);
    void remove_listener(OutsideListener& listener) { listeners_.remove(listener); }
    // In a call: what arrives sends this signal to the calling thread of the operating system;
    // 0: no more.
    Status signal_arrivals(int signal);
    bool signals_arrivals() const { return listeners_.signalled_thread() != 0; }
    // The same for a transport that has come, or has more connections.
    void signal_arrivals_of(Transport& transport);
    // In a call: the program waits outside of the library for so many more runs, or fewer. What
    // comes for them wakes the progress thread, and what they lack is demanded.
    void await_outside(std::int32_t change);
    // In a call: whether a thread makes progress while the program is outside of the library.
    // Starts it.
    bool obtain_thread() {
        return traits(kind()).has_thread() && ensure_thread(traits(kind()).has_poller);
    }
    // Whether the progress thread, if there is one, is woken only on demand for groups within the
    // node.
    bool works_on_demand() const { return demands_.is_on(); }

  private:
    class Released;
    using DonePointer = bool (*)(void*);

    // A call moves what it can, but leaves more than a few pieces of each peer's large message to
    // the sleeper.
    static constexpr int rounds_before_leaving = 8;
    // How long a wait spins before it sleeps; adapted to recent waits within these limits.
    static constexpr std::int64_t spin_min_ns = 5'000;
    static constexpr std::int64_t spin_max_ns = 100'000;

    // engine.cpp: the lock, and what a call leaves behind
    void lock() { lock_.lock(); }
    // By itself only where nothing has happened, or those who wait were told.
    void unlock() {
        if (serves_outside_) [[unlikely]]
            listeners_.tell(needs_program());
        lock_.unlock();
    }
    // Whoever has driven, or begun a run, gives the lock up by this: those who wait hear of it.
    void release() {
        if (sleepers_.has_audience() || serves_outside_) notify_waiters();
        unlock();
    }
    bool yield_to_contenders();
    void call_without(void (*function)(void*), void* context) override;
    void call_with(void (*function)(void*), void* context) override;
    void return_from_call(bool led, bool has_tested);
    void notify_waiters();
    bool needs_attention() const;
    bool needs_program() const;
    void end_start();
    [[gnu::cold]] void demand_for_sleeping_leader();
    void linger();
    void wake_for_offload();
    void begin_late_lists();
    bool submit_or_call_owner() { return executor_.needs_list_owner() && !submit_here(); }
    bool submit_here();
    Sleeper arm_for_the_rest(bool has_started, bool is_needed);

    // wait.cpp: waits that block their thread
    static bool is_past(std::int64_t deadline_ns) {
        return deadline_ns != no_deadline && now_ns() >= deadline_ns;
    }
    struct Spin;
    enum class Polled : std::uint8_t { done, timed_out, lost_lead, moved, handed_over, nothing };
    weft_status wait(DonePointer done, void* context, Patience patience);
    weft_status lead(DonePointer done, void* context, const Patience& patience);
    weft_status drive_until(DonePointer done, void* context, const Patience& patience);
    Polled poll_as_leader(DonePointer done, void* context, const Patience& patience);
    bool spins_on(Spin& spin);
    void sleep_as_leader(const Patience& patience);
    void end_lead(weft_status status, const Patience& patience);
    void follow(const Patience& patience);
    static bool may_be_cancelled(const Patience& patience);
    [[gnu::cold]] bool may_rest() const;
    bool poll_extra(const Patience& patience);
    std::int64_t end_of_sleep(const Patience& patience);
    bool take_interrupt();
    void sleep(Sleeper sleeper, std::int64_t deadline_ns, bool may_be_cancelled = false);

    // suspend.cpp: waits of user-level threads
    weft_status suspend(UserThreads& threads, DonePointer done, void* context,
                        const Patience& patience);
    bool drive_what_has_come(DonePointer done, void* context);
    bool look(UserThreads& threads);
    bool begin_functions(UserThreads& threads);

    // progress_threads.cpp
    bool ensure_thread(bool polls);
    void replace_thread(bool polls);
    void go_to_progress_cores();
    void change_kind(EngineKind kind);
    void thread_main();
    bool drive_as_thread();
    void thread_poll_main();

    // A thread of an engine, not the program's.
    static inline constinit thread_local bool is_engine_thread
        __attribute__((tls_model("initial-exec"))) = false;

    Executor& executor_;
    Offload* const offload_;  // null: none
    int offload_fd_ = -1;     // its wait_fd() at the last start
    std::atomic<EngineKind> kind_;
    const bool may_spin_;         // waits
    const bool thread_may_spin_;  // the progress thread
    const bool thread_may_be_late_;
    bool serves_outside_ = false;  // there are listeners, or demands for them
    HandoverLock lock_;
    const std::int64_t timeout_ns_;

    // How the program starts and waits.
    bool has_started_ = false;              // a run, in this call
    bool waits_right_after_start_ = false;  // it did so after its last start
    // After a start, since the program last completed an operation.
    bool polled_after_start_ = false;
    std::uint64_t left_ticks_ = 0;  // when the program last left the engine after a start
    std::int64_t spin_ns_ = spin_max_ns / 4;
    int waits_without_yields_ = 0;  // a core is busy: the next ones sleep at once
    std::int64_t looked_ns_ = 0;    // when progress() last looked for peers that died

    DemandPolicy demands_;
    Sleepers sleepers_;
    Listeners listeners_;
    std::uint64_t wakes_ = 0;  // calls of wake_waiters()
    std::atomic<bool> interrupted_{false};

    // While the engine's kind is being changed, no thread begins, and some end.
    enum class Change : std::uint8_t { none, poller_ends, threads_end };
    Change change_ = Change::none;
    bool owner_called_ = false;  // the thread was woken to submit lists
    bool thread_refused_ = false;
    int threads_in_calls_ = 0;  // the engine's threads that run functions of the program
    Thread thread_;             // sleeps
    Thread poller_;             // polls
    std::mutex kind_mutex_;     // one change of engine at a time; taken before lock_
    const ProgressPlace progress_place_;
};

template <class Body>
auto Engine::call(Body body) -> decltype(body()) {
    before_call();
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            after_call();
        } else {
            auto result = body();
            after_call();
            return result;
        }
    } catch (...) {
        after_call();
        throw;
    }
}

}  // namespace weft
