// The executor: advances all runs of a process over its transports.
//
// It counts predecessors down, hands ready sends and receives to the transports, performs reductions
// and copies, and finishes runs. It has no thread, no clock and no lock of its own, allocates nothing
// while running, and never recurses: what becomes ready goes through the run's ready queue.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "run/run.h"
#include "transport/transport.h"

namespace weft {

class Executor {
  public:
    // `routes`: by rank of the job, the transport that reaches it (null: this rank itself).
    Executor(std::vector<Transport*> transports, std::vector<Transport*> routes);

    // Begin `run`, which must not be active, and issue what is ready. It may be done on return.
    void start(Run& run, Stream& stream, const Binding& binding);

    // Poll the transports once and advance what that allows. False: nothing happened.
    bool progress();

    // Runs begun and not done, oldest first.
    Run* first_active() const { return first_active_; }
    static Run* next_active(const Run& run) { return run.next_active_; }
    std::uint32_t active() const { return active_; }
    // Counts the runs that ended.
    std::uint64_t finished() const { return finished_; }

    // Marks the group broken if one of its members is lost.
    void note_lost_members(Group& group) const;

    // Ends every run of the group with this failure and forgets its messages.
    void break_group(Group& group, const Failure& failure);

  private:
    Instance instance(const Run& run, const Run::RepeatState& state, OpId op,
                      std::int64_t iteration) const;
    void push_ready(Run& run, Instance instance);
    void release(Run& run, Instance instance);
    void release_lane(Run& run, std::int32_t lane);
    void append_ready(Run& run);
    void remove_from_queues(Run& run);
    void drain();
    void drain(Run& run);
    bool execute(Run& run, Instance instance);
    void issued(Run& run, OpId op, Run::RepeatState* state, std::int64_t iteration);
    void completed(Run& run, OpId op, Run::RepeatState* state, std::int64_t iteration);
    void begin_repeat(Run& run, std::size_t index);
    void prepare_iteration(Run& run, std::size_t index, std::int64_t iteration);
    void begin_iterations(Run& run, std::size_t index);
    void finish(Run& run);
    void handle(const Completion& completion);
    void lose(Rank peer);

    std::vector<Transport*> transports_;
    std::vector<Transport*> routes_;
    std::vector<bool> lost_;
    bool any_lost_ = false;

    std::array<Completion, 32> done_;  // taken from a transport at a time

    Run* first_ready_ = nullptr;
    Run* last_ready_ = nullptr;
    Run* stalled_ = nullptr;  // a transport was busy: try again at the next progress
    Run* first_active_ = nullptr;
    Run* last_active_ = nullptr;
    std::uint32_t active_ = 0;
    std::uint64_t finished_ = 0;
};

}  // namespace weft
