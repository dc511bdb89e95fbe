// The progress engine of a process: who advances its runs, and when. Its kind can change
// (base/engine_kind.h).
//
// The thread that holds the lock drives. Invariants:
//   - When nobody holds the lock and runs need attention, what comes wakes somebody: the transports
//     are armed for a program's thread that sleeps in wait(), else for the progress thread (engine
//     manual: for nobody, the program will call).
//   - While a program's thread spins in wait(), it drives, and the transports are not armed: peers
//     make no system call for us, and the progress thread stays asleep.
//   - At most one program's thread, the leader, sleeps on the transports. Others that wait follow:
//     they sleep until their run is done or there is no leader.
//   - Whoever gives up the lock has told the listeners of every run that has ended.
//   - A wait inside a user-level thread neither leads nor follows: it is suspended
//     (engine/user_threads.h), and what runs these threads looks, or waits, for all of them.
//
// Thread safety: all public functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

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
        // The progress thread shares its core with a rank that computes. For groups whose members
        // are all reached by transports that know demands, it is woken only when a rank waits for
        // what it does.
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

    EngineKind kind() const { return kind_.load(std::memory_order_relaxed); }
    void set_kind(EngineKind kind);
    // At the end of the process: stops the engine's threads; operations stay pending. Gives up
    // after `patience_ns`: the process may exit within a call that holds the engine.
    void end_threads(std::int64_t patience_ns);

    // Exclusive use of the executor and everything around it by a program's thread. On release, the
    // transports are armed for the thread that is in charge of progress.
    class Hold {
      public:
        explicit Hold(Engine& engine) : engine_(engine) { engine_.lock(); }
        ~Hold() { engine_.leave(); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

      private:
        Engine& engine_;
    };

    // Inside a Hold: whether this thread may start runs; if not, why.
    Status check_starter() const { return offload_ != nullptr ? offload_->check_starter() : ok; }
    // Inside a Hold: starts a run. `plan`: of its schedule; null: it must not be offloaded.
    // `waits`: the caller waits for it at once.
    void start(Run& run, Stream& stream, const Binding& binding, OffloadPlan* plan, bool waits);

    // Drive once, inside a Hold. `tests`: the program looks whether something has completed, and
    // may do so again instead of sleeping.
    bool progress(bool tests = true);

    // Inside a Hold: the program has completed a request.
    void note_completion() { polled_after_start_ = false; }

    // How many runs have ended. Does not drive.
    std::uint64_t finished();

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

    // Inside a Hold: drives, spins and finally sleeps until `done()` is true, which is called with
    // the lock held. Returns WEFT_OK; or WEFT_INTERRUPTED or WEFT_TIMED_OUT, if `patience` allows
    // it.
    template <class Done>
    weft_status wait_until(Done done, Patience patience) {
        return wait([](void* d) { return (*static_cast<Done*>(d))(); }, &done, patience);
    }

    // Inside a Hold: these user-level threads end. REQUIRES: none of them waits.
    void detach(UserThreads& threads) { executor_.run_functions_inline(threads); }

    // For the scheduler of user-level threads, in its thread, outside of a Hold. Drives, unless
    // another thread does or the last time is too short ago (Look::if_due), and resumes the threads
    // whose waits have ended. True: there were some.
    enum class Look : std::uint8_t { if_due, now };
    bool look_for(UserThreads& threads, Look how = Look::if_due);
    // Waits until there are some. REQUIRES: one waits.
    void sleep_for(UserThreads& threads);

    // Inside a Hold. May throw; then nothing has happened.
    void add_listener(OutsideListener& listener);
    void remove_listener(OutsideListener& listener) { listeners_.remove(listener); }

    // Whether the progress thread, if there is one, is woken only on demand for groups within the
    // node.
    bool works_on_demand() const { return demands_.is_on(); }

    // Inside a Hold: the program waits outside of the library for so many more runs, or fewer. What
    // comes for them wakes the progress thread, and what they lack is demanded.
    void await_outside(std::int32_t change);
    // Inside a Hold: waits must look again, though no run has ended.
    void wake_waiters() {
        sleepers_.make_news(executor_.happened());
        ++wakes_;
    }
    // Inside a Hold: whether a thread makes progress while the program is outside of the library.
    // Starts it.
    bool obtain_thread() {
        return traits(kind()).has_thread() && ensure_thread(traits(kind()).has_poller);
    }

    // Inside a Hold: what arrives sends this signal to the calling thread of the operating system;
    // 0: no more.
    Status signal_arrivals(int signal);

    // Makes a wait return WEFT_INTERRUPTED: the current one, or else the next that would block.
    // Async-signal-safe.
    void interrupt();

  private:
    class Released;
    using DonePointer = bool (*)(void*);

    void lock() { lock_.lock(); }
    void unlock() {
        if (serves_outside_) [[unlikely]]
            listeners_.tell(executor_.has_confined());
        lock_.unlock();
    }
    void call_without(void (*function)(void*), void* context) override;
    void call_with(void (*function)(void*), void* context) override;
    void return_from_call(bool led, bool has_tested);
    void leave();
    void linger();
    void wake_for_offload();
    weft_status wait(DonePointer done, void* context, Patience patience);
    weft_status lead(DonePointer done, void* context, const Patience& patience);
    weft_status drive_until(DonePointer done, void* context, const Patience& patience);
    static bool may_be_cancelled(const Patience& patience);
    weft_status suspend(UserThreads& threads, DonePointer done, void* context,
                        const Patience& patience);
    bool drive_what_has_come(DonePointer done, void* context);
    bool look(UserThreads& threads);
    bool begin_functions(UserThreads& threads);
    void follow(const Patience& patience);
    [[gnu::cold]] bool may_rest() const;
    bool poll_extra(const Patience& patience);
    std::int64_t end_of_sleep(const Patience& patience);
    bool take_interrupt();
    void sleep(Sleeper sleeper, std::int64_t deadline_ns, bool may_be_cancelled = false);
    bool ensure_thread(bool polls);
    void replace_thread(bool polls);
    void go_to_progress_cores();
    void change_kind(EngineKind kind);
    // True: the progress thread must be woken to submit lists.
    bool submit_or_call_owner() { return executor_.needs_list_owner() && !submit_here(); }
    bool submit_here();
    bool yield_to_contenders();
    void thread_main();
    void thread_poll_main();
    void notify_waiters();
    bool needs_attention() const;

    Executor& executor_;
    Offload* const offload_;  // null: none
    int offload_fd_ = -1;     // its wait_fd() at the last start
    std::atomic<EngineKind> kind_;
    const bool may_spin_;         // waits
    const bool thread_may_spin_;  // the progress thread
    DemandPolicy demands_;
    Sleepers sleepers_;
    const std::int64_t timeout_ns_;

    HandoverLock lock_;

    int threads_in_calls_ = 0;     // the engine's threads that run functions of the program
    std::uint64_t wakes_ = 0;      // calls of wake_waiters()
    bool serves_outside_ = false;  // there are listeners, or demands for them
    std::int64_t spin_ns_;
    std::int64_t looked_ns_ = 0;            // when progress() last looked for peers that died
    std::uint64_t left_ticks_ = 0;          // when the program last left the engine after a start
    bool has_started_ = false;              // a run, since then
    bool waits_right_after_start_ = false;  // the program waited right after its last start
    bool polled_after_start_ =
        false;  // after a start, since the program last completed an operation

    Thread thread_;          // sleeps
    Thread poller_;          // polls
    bool stopping_ = false;  // the engine is being changed: no thread begins
    bool thread_ends_ = false;
    bool poller_ends_ = false;
    bool owner_called_ = false;  // the thread was woken to submit lists
    bool thread_refused_ = false;
    std::mutex kind_mutex_;  // one change of engine at a time; taken before lock_

    Listeners listeners_;
    const ProgressPlace progress_place_;
    std::atomic<bool> interrupted_{false};
};

}  // namespace weft
