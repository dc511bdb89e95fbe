// A run: a schedule bound to buffers and started.
//
// A run is made once for a schedule and used again for every start; starting it allocates nothing.
// Its state counts down, for every operation, the predecessors that have not completed.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "offload/offload.h"
#include "reduce/reduce.h"
#include "run/stream.h"
#include "schedule/repeats.h"
#include "schedule/schedule.h"

namespace weft {

// A function of the program as an operation of a schedule.
struct UserCall {
    void (*function)(void* data, std::size_t bytes, void* context) = nullptr;
    void* context = nullptr;
};

// What a start binds a schedule to.
struct Binding {
    const std::byte* send = nullptr;
    std::byte* recv = nullptr;
    Reduction reduction;
    const UserCall* calls = nullptr;  // by the number in their operation
    // The library's own call may set this: the run must not go on, and its group breaks.
    const Failure* verdict = nullptr;
};

class Executor;
class Run;
struct TaggedMessage;

// Hears of the ends of the runs that carry its mark, or that it waits for.
class CompletionListener {
  public:
    // The executor has ended the run, and goes on afterwards: do not call it.
    virtual void run_ended(Run& run) = 0;

  protected:
    ~CompletionListener() = default;
};

// A function of the program, as an operation of a run, that may wait: it runs apart from whoever
// drives, in a user-level thread. Its operation is pending until it has returned, as a message is.
struct FunctionCall {
    Executor* executor = nullptr;
    Run* run = nullptr;
    Instance instance = 0;
    bool waits = false;            // it may begin, and has not
    FunctionCall* next = nullptr;  // the host's
};

// Where such functions run (engine/user_threads.h).
class FunctionHost {
  public:
    // This one may begin: Executor::begin_function(), then perform().
    virtual void take(FunctionCall& call) = 0;
    // It must not any more. REQUIRES: it waits.
    virtual void drop(FunctionCall& call) = 0;

  protected:
    ~FunctionHost() = default;
};

class Run {
  public:
    // Who is told when the run ends, once. The listener's; kept here so that a mark takes no
    // memory.
    struct Mark {
        CompletionListener* listener = nullptr;  // null: nobody
        std::uint64_t cookie = 0;
        Run* next = nullptr;
        Run* previous = nullptr;
    };
    Mark mark;
    CompletionListener* waiter =
        nullptr;  // a user-level thread waits for this run (engine/user_threads.h)

    explicit Run(const Schedule& schedule);
    virtual ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Whether the offload accepts this start. If so, the run can execute as task lists.
    bool offer_to(Offload& offload, OffloadPlan& plan, const Offload::Start& start);
    bool has_lists() const { return rest_ != nullptr; }

    const Schedule& schedule() const { return schedule_; }
    bool is_done() const { return !active_; }
    // Functions of the program are operations of this run.
    bool has_functions() const { return !function_calls_.empty(); }
    // Before a start: who runs them; null: whoever drives.
    void set_function_host(FunctionHost* host) { function_host_ = host; }
    const Failure& failure() const { return failure_; }
    Stream* stream() const { return stream_; }
    std::int64_t memory_bytes() const;

    // From now on, every start is a send or receive of the program's (Executor::start_message()).
    // REQUIRES: the schedule is a single join, which completes with the message.
    void make_message();
    TaggedMessage* message() const { return message_.get(); }  // null: it is none

    // The ranks of the job whose messages this active run awaits; with `sends`, those that have not
    // taken its messages. Looks at every operation.
    std::vector<Rank> late_peers(bool sends) const;

  private:
    friend class Executor;

    // In missing_: the operation has completed.
    static constexpr std::uint32_t completed_mark = ~std::uint32_t{0};

    Run(const Schedule& rest, Run& whole);
    void make_state();
    void use_stand_ins();
    bool is_late(OpId op) const;
    // What the executor carries out of this run.
    Run& carried_out() { return runs_as_lists_ ? *rest_ : *this; }

    const Schedule& schedule_;
    bool active_ = false;
    bool queued_ = false;  // in the executor's list of runs with ready operations
    Failure failure_;
    Stream* stream_ = nullptr;
    Binding binding_;
    // The caller's buffers, where others stand in for them in the binding.
    const std::byte* given_send_ = nullptr;
    std::byte* given_recv_ = nullptr;
    std::unique_ptr<std::byte[]> own_scratch_;
    std::byte* scratch_ = nullptr;

    Run* whole_ = nullptr;  // this is the rest of that run
    // The run as task lists: the lists, and a run of the rest for the executor.
    std::unique_ptr<Offload::Lists> lists_;
    std::unique_ptr<Run> rest_;
    bool is_offered_ = false;     // at its last start
    bool runs_as_lists_ = false;  // since its last start

    std::uint32_t unfinished_ = 0;  // operations outside repeats
    std::uint32_t outer_ops_ = 0;
    std::vector<bool> is_urgent_;         // by operation: see Executor::needs_attention()
    std::uint32_t urgent_ops_ = 0;        // outside repeats
    std::uint32_t urgent_left_ = 0;       // of them, not completed
    std::int64_t unattended_bytes_ = 0;   // of operations that are not urgent
    std::vector<std::uint32_t> missing_;  // by instance: predecessors not completed, or the mark
    std::vector<RepeatState> repeats_;
    std::vector<LaneHold> next_on_lane_;  // by schedule lane: the run that issues after this one

    // The run must not end while a function of the program runs: in the thread that drives, or
    // apart.
    bool is_calling_ = false;
    std::uint32_t functions_apart_ = 0;
    FunctionHost* function_host_ = nullptr;     // as its last start said
    std::vector<FunctionCall> function_calls_;  // by the number in their operation
    std::size_t done_bytes_ = 0;                // of the first ready operation, if it was cut

    // Ready operations, first in first out; each instance is in it at most once.
    std::vector<Instance> ready_;
    std::uint32_t ready_begin_ = 0;
    std::uint32_t ready_count_ = 0;

    Run* next_queued_ = nullptr;
    Run* next_active_ = nullptr;
    Run* previous_active_ = nullptr;

    std::unique_ptr<TaggedMessage> message_;
};

}  // namespace weft
