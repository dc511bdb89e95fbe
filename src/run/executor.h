// The executor: advances all runs of a process over its transports.
//
// It counts predecessors down, hands ready sends and receives to the transports, performs
// reductions and copies, and finishes runs. It has no thread, no clock and no lock of its own,
// allocates nothing while running, and does not recurse with a schedule's depth: what becomes ready
// goes through the run's ready queue. If a transport's post throws because memory ran out, the
// run's group breaks.
//
// A call does a bounded amount of work: large reductions and copies are done in pieces, and the
// rest stays in the queue. Functions of the program run without the exclusion.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "offload/offload.h"
#include "run/failure_notices.h"
#include "run/run.h"
#include "run/tagged.h"
#include "schedule/unattended.h"
#include "transport/transport.h"

namespace weft {

// Makes the executor's calls exclusive: the progress engine's lock.
class Exclusion {
  public:
    // Calls function(context) without it.
    virtual void call_without(void (*function)(void*), void* context) = 0;
    // The same with it, from a thread that does not have it.
    virtual void call_with(void (*function)(void*), void* context) = 0;

  protected:
    ~Exclusion() = default;
};

// Which functions of the program may run. Confined ones (weft_op_create_confined) must not run in
// Weft's own threads.
enum class Callable : std::uint8_t { none, unconfined, all };

class Executor {
  public:
    // `routes`: by rank of the job, the transport that reaches it. `offload`: null: none.
    Executor(Rank rank, std::vector<Transport*> transports, std::vector<Transport*> routes,
             Offload* offload = nullptr);

    // From now on, functions of the program run without this.
    void set_exclusion(Exclusion& exclusion) { exclusion_ = &exclusion; }

    // Begins `run` and issues what is ready. It may be done on return. Does not throw: if there is
    // no memory for it, its group breaks. `is_offered`: it begins in begin_offered(), and so do the
    // runs started after it. REQUIRES: it is not active; if offered, its offload has accepted it.
    void start(Run& run, Stream& stream, const Binding& binding, bool is_offered = false);

    // The same for a send or receive of the program's, of which `stream` tells the group. It needs
    // no turn behind offered runs: no collective shares its lane.
    void start_message(Run& run, Stream& stream);

    Offload* offload() const { return offload_; }  // null: none
    bool has_offered() const { return offered_.first != nullptr; }
    // Begins the offered runs and those kept behind them, in the order of their starts. `as_lists`:
    // the offered ones as task lists, where the offload admits them. The thread may then own lists.
    void begin_offered(bool as_lists);
    // Lists wait for a thread that may own them.
    bool needs_list_owner() const {
        return has_offered() || (offload_ != nullptr && offload_->needs_owner());
    }
    // Lists are in flight or about to be: the thread that owns them must not end.
    bool has_lists() const {
        return has_offered() ||
               (offload_ != nullptr && (offload_->is_busy() || offload_->needs_owner()));
    }
    const std::vector<CompletionSource*>& sources() const { return sources_; }

    // Polls the transports once and advances what that allows. False: nothing happened. Functions
    // of the program may run as `callable` says, and then other threads may change everything
    // meanwhile.
    bool progress(Callable callable = Callable::all);
    // Functions of the program that run apart (FunctionHost). One that waits begins; then, without
    // the exclusion and in a thread of its own, it is performed. Returns when the function has, and
    // its operation has ended.
    void begin_function(FunctionCall& call);
    void perform(FunctionCall& call);
    // The host ends: whoever drives calls the functions that have not begun.
    void run_functions_inline(FunctionHost& host);

    // Whether operations are left that only need another progress(): pieces, or functions.
    bool has_ready() const { return ready_.first != nullptr || has_left_calls_; }
    // Whether a confined function became ready where it may not run: only a thread of the program
    // can do this work.
    bool has_confined() const { return has_left_confined_; }

    // A further transport, which outlives this object. May throw; then nothing has happened.
    void add_transport(Transport& transport);
    // Processes that are not ranks of the job get numbers behind those of its ranks. May throw;
    // then nothing has happened.
    std::vector<Rank> reserve_numbers(std::size_t count);
    // The transport reaches the process of a reserved number.
    void add_peer(Transport& transport, Rank number);
    // No process has this number any more; its transport ends.
    void remove_peer(Rank number);
    // The process is dead or out of reach.
    bool has_lost(Rank number) const { return failures_.has_lost(number); }
    // In the job.
    Rank rank() const { return failures_.rank(); }

    // From now on failures reach the group. May throw; then nothing has happened.
    void add_group(Group& group);
    // Ends every run of the group with this failure, sends a notice to the other members, and
    // forgets its messages. Only the first failure of a group counts.
    void break_group(Group& group, const Failure& failure);
    // This rank makes the group's next call, or refuses it (run/failure_notices.h). The first may
    // break the group; the second may throw.
    void count_call(Group& group) { failures_.count_call(group); }
    void refuse_call(Group& group, const Failure& failure) {
        failures_.refuse_call(group, failure);
    }
    // For a group whose messages may have come, but for which this rank has no memory: tells its
    // members. `telling` was reserved before others could have the group.
    void break_unmade(std::unique_ptr<FailureNotices::Telling> telling, const Group& group);
    // For a group that this rank cannot make, because it has another one with the same context:
    // tells those members that do not have the other one.
    void tell_of_taken(std::unique_ptr<FailureNotices::Telling> telling, std::uint64_t context,
                       std::span<const Rank> members) {
        failures_.tell(std::move(telling), context, members, failures_.has_taken_context());
    }
    // Why a group breaks when this rank has run out of memory.
    Failure out_of_memory() const { return failures_.out_of_memory(); }
    // For a group without runs, before it ends: messages that still come for it are dropped.
    void remove_group(Group& group);

    // Between these two, messages and failure notices may come for groups that this rank does not
    // have yet: the others that make them were faster. A new executor expects its first groups.
    // expect_group() may throw; then none is expected.
    void expect_group();
    void group_decided();

    // Runs begun and not done, oldest first.
    Run* first_active() const { return first_active_; }
    static Run* next_active(const Run& run) { return run.next_active_; }
    std::uint32_t active() const { return active_; }
    // Wakes sleeping peers for what was posted. Call it before leaving the executor alone for a
    // while. True: the progress thread of a peer was woken since the last call.
    bool wake_peers() {
        bool woke = false;
        for (CompletionSource* source : sources_) woke |= source->wake_peers();
        return woke;
    }
    const std::vector<Transport*>& transports() const { return transports_; }
    // By rank of the job.
    const std::vector<Transport*>& routes() const { return routes_; }
    // The transport to this rank of the job; null: this rank itself.
    Transport* route(Rank peer) const { return routes_[static_cast<std::size_t>(peer)]; }
    // Counts the runs begun.
    std::uint64_t started() const { return started_; }
    // Whether there is something to do for which no wake-up comes.
    bool has_work() const;
    // The ranks (of the job) that this work is for, as far as the transports know; sorted.
    std::vector<Rank> owed_ranks() const;
    // Whether anything is left to advance: runs, or messages that ended runs still owe to others.
    bool is_pending() const { return active_ > 0 || has_work(); }
    // Whether arriving messages should wake a thread: other ranks may wait for what this rank sends
    // next, or handling them takes time. A few small messages that complete an operation here can
    // be left to the thread that waits for it, unless their senders wait for this rank, too: a
    // wake-up would cost the computation more than they do.
    bool needs_attention() const {
        return urgent_runs_ > 0 || active_ > unattended_runs_max_ ||
               unattended_bytes_ > unattended_bytes_of_runs_max_ || has_work() ||
               (offload_ != nullptr && offload_->needs_attention());
    }
    // Whether ranks that a demand does not reach may need this one: it should do at once what it
    // can.
    bool is_eager() const { return eager_runs_ > 0 || (some_are_eager_ && has_work()); }
    bool some_are_eager() const { return some_are_eager_; }
    // Whether a thread that drives passes cancellation points (base/cancellation.h).
    bool has_cancellation_points() const { return has_cancellation_points_; }
    // Whoever works for these runs does it without a demand.
    bool all_runs_are_eager() const { return some_are_eager_ && active_ == eager_runs_; }
    // The program waits for so many more runs, or fewer, in a sleep of its own: they need
    // attention.
    void await_outside(std::int32_t change) {
        awaited_runs_ += static_cast<std::uint32_t>(change);
        urgent_runs_ += static_cast<std::uint32_t>(change);
    }
    bool is_awaited_outside() const { return awaited_runs_ > 0; }
    // Counts the pieces of large messages that all transports have moved.
    std::uint64_t pieces_moved() const { return pieces_moved_; }
    // Counts the runs that ended.
    std::uint64_t finished() const { return finished_; }
    // ... and the functions that were given to their hosts.
    std::uint64_t happened() const { return finished_ + functions_given_; }

  private:
    void limit_unattended(const Transport& transport);
    void activate(Run& run, Stream& stream);
    void begin(Run& run, bool as_lists);
    void begin_here(Run& run);
    bool begin_lists(Run& run);
    void poll_all(bool& moved);
    void buffer_unknown(bool keep);
    void end_runs(Group& group);
    void push_ready(Run& run, Instance instance);
    void release(Run& run, Instance instance);
    void release_lane(Run& run, std::int32_t lane);
    // Runs in the order in which they came; each is in one queue at most.
    struct Queue {
        Run* first = nullptr;
        Run* last = nullptr;

        void append(Run& run);
        Run& pop();
        void remove(Run& run);
    };

    // The outcome of an attempt to execute an operation.
    enum class Executed : std::uint8_t {
        yes,
        busy,   // not started: the transport is busy, or no function may be called now
        cut,    // a piece of it is done, or nothing: no more work is allowed now
        ended,  // its run has failed meanwhile
    };

    bool drain(Callable callable);
    bool drain(Run& run, Callable callable);
    Executed try_execute(Run& run, Instance instance, Callable callable);
    Executed execute(Run& run, Instance instance, Callable callable);
    static const std::byte* readable(const Run& run, const Region& region);
    static std::byte* writable(const Run& run, const Region& region);
    Posted post_send(Run& run, const Op& op, Instance instance);
    Posted post_recv(Run& run, const Op& op, Instance instance, OpId id, std::int64_t iteration);
    Executed copy(Run& run, const Op& op);
    Executed convert(Run& run, const Op& op);
    Executed convert_wire(Run& run, const Op& op);
    Executed reduce(Run& run, const Op& op, Callable callable);
    Executed reduce_by_program(Run& run, const Op& op, Callable callable);
    Executed call(Run& run, const Op& op, Callable callable);
    std::size_t allow(std::size_t bytes, std::size_t element_bytes);
    static bool note_piece(Run& run, std::size_t piece, std::size_t bytes);
    bool give_to_host(Run& run, const Op& op, Instance instance);
    void end_function(FunctionCall& call, bool has_thrown);
    void end_when_called(Run& run);
    Failure function_failure() const;
    void leave_call_undone(Run& run);
    Executed leave_call(bool is_confined);
    template <class Function>
    bool call_program(Run& run, Function function);
    OpId combined_on_arrival(const Run& run, OpId op) const;
    void issued(Run& run, OpId op, RepeatState* state, std::int64_t iteration);
    void completed(Run& run, OpId op, RepeatState* state, std::int64_t iteration);
    void finish(Run& run);
    void handle(const Completion& completion);

    Offload* const offload_;
    std::vector<Transport*> transports_;
    // The offload, the transports, and messages_ once it has any.
    std::vector<CompletionSource*> sources_;
    std::vector<Transport*> routes_;
    TaggedMessages messages_;
    bool polls_messages_ = false;
    const std::size_t job_ranks_;
    FailureNotices failures_;
    std::uint32_t expected_groups_ = 1;

    std::array<Completion, 32> done_;  // taken from a source at a time

    Queue offered_;  // to begin_offered(): offered runs, and those started after them
    Queue ready_;    // with ready operations
    Queue stalled_;  // a transport was busy, or no function could be called: at the next progress
    Exclusion* exclusion_ = nullptr;
    std::size_t budget_ = 0;          // bytes that may still be reduced or copied in this call
    bool has_left_calls_ = false;     // functions became ready where none may be called
    bool has_left_confined_ = false;  // ... and confined ones
    Run* ending_ = nullptr;           // its group breaks:
    Failure ending_failure_;          // the verdict was bad, memory ran out, or a function threw
    Run* first_active_ = nullptr;
    Run* last_active_ = nullptr;
    std::uint32_t active_ = 0;
    bool some_are_eager_;  // some ranks are not reached by demands
    bool has_cancellation_points_;
    std::uint32_t eager_runs_ = 0;  // of groups with such ranks
    // Active runs with urgent operations that have not completed; again those of groups that are
    // attended, and again those awaited outside.
    std::uint32_t urgent_runs_ = 0;
    std::uint32_t awaited_runs_ = 0;     // in a sleep of the program's own
    std::int64_t unattended_bytes_ = 0;  // of active runs
    // Runs that may be left to the program, and their bytes. A thread that is woken for the
    // messages of many small runs takes more time from the program than it saves; but they must not
    // fill the buffers between the ranks.
    std::uint32_t unattended_runs_max_ = 256;
    std::int64_t unattended_bytes_of_runs_max_ = 16 * unattended_bytes_of_all_max;
    std::uint64_t started_ = 0;
    std::uint64_t finished_ = 0;
    std::uint64_t functions_given_ = 0;
    std::uint64_t pieces_moved_ = 0;
};

}  // namespace weft
