// The runs of a program that waits in its own way: those it has marked for a queue, and of them
// those that have ended. A descriptor is readable while some have.
//
// No end is lost. Everything here happens under the engine's lock: a mark, the end of a marked run,
// the look into the queue that finds it empty and makes the descriptor unreadable. What remains is:
//   - *A run ends before it is marked*: the mark queues it at once.
//   - *A run ends, and the program sleeps.* Whoever holds the lock when a run ends tells the
//     engine's listeners before giving the lock up (Engine::unlock), so the descriptor of a queue
//     that is not empty is readable whenever the lock is free. It stays so until take() has found
//     the queue empty, under the same lock: nothing can come in between. The program sleeps on the
//     descriptor without the lock, and the kernel sees what was written before or after.
//   - *What would end a run comes, and nobody looks.* A queue with a descriptor counts its pending
//     runs in the executor, so that they need attention; the mark happens in a call, and
//     Engine::after_call() then starts the progress thread, and arms the transports for it, before
//     it gives up the lock. In jobs where the thread works on demand, the mark also demands, and
//     makes after_call() arm again, for everything.
//   - *A function that only a thread of the program's may call* is left, or *there is no progress
//     thread any more*, after a change of engine: the descriptor is readable although nothing has
//     ended, while marked runs are pending, and the program's next look drives.
//
// The descriptor may also be readable with nothing in the queue: a test or wait has completed the
// request.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "engine/engine.h"
#include "run/run.h"

namespace weft {

class CompletionQueue final : CompletionListener, OutsideListener {
  public:
    explicit CompletionQueue(Engine& engine) : engine_(engine) {}
    // Takes all marks away.
    ~CompletionQueue();
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    // Readable while a marked run has ended and was not taken. Opened by the first call. May throw.
    Result<int> descriptor();
    bool has_descriptor() const { return static_cast<bool>(descriptor_); }

    // Marks a run that is active or done; it has no mark.
    void mark(Run& run, std::uint64_t cookie);
    // Takes a run's mark away, whatever queue it is for.
    static void unmark(Run& run);

    bool is_empty() const { return ended_.first == nullptr; }
    // The oldest marked run that has ended, without its mark and its `cookie`; null: there is none,
    // and the descriptor is not readable.
    Run* take(std::uint64_t& cookie);

    // Marked runs that have not ended, oldest mark first.
    std::uint32_t pending() const { return pending_count_; }
    const Run* first_pending() const { return pending_.first; }
    static const Run* next_pending(const Run& run) { return run.mark.next; }

    std::uint32_t place_in_table_ = 0;

  private:
    struct MarkedRuns {
        Run* first = nullptr;
        Run* last = nullptr;

        void append(Run& run);
        void remove(Run& run);
    };

    void run_ended(Run& run) override;
    void tell(bool needs_program) override;
    void remove(Run& run);

    Engine& engine_;
    UnsharedFd descriptor_;
    bool is_readable_ = false;
    MarkedRuns pending_;
    MarkedRuns ended_;
    std::uint32_t pending_count_ = 0;
};

}  // namespace weft
