// Runs task lists (schedule/tasks/tasks.h) beside the executor, which hands over the lists of a run
// and awaits their reports.
//
// The thread that submits lists to the kernel owns them: their steps run in its context, and if it
// ends before they do, they are cancelled.
//
// Running out of memory: make() and begin() may throw std::bad_alloc; after begin() has,
// cancel_context() of the context ends what it began. Nothing else throws.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "run/binding.h"
#include "run/stream.h"
#include "schedule/tasks/tasks.h"
#include "transport/transport.h"

namespace weft {

// Whether this is the engine's thread. It lives as long as the engine, and may own lists.
inline thread_local bool is_progress_thread = false;

class Offload : public CompletionSource {
  public:
    // The lists of one run: made once, begun at every start.
    class Lists {
      public:
        virtual ~Lists() = default;
        virtual std::int64_t memory_bytes() const = 0;
        // Adds the ranks of the job whose messages are missing; with `sends`, those that have not
        // taken ours.
        virtual void add_late(bool sends, std::vector<Rank>& ranks) const = 0;
    };

    // Fails when there are no descriptors left for eventfds. `tasks` must outlive the result.
    virtual Result<std::unique_ptr<Lists>> make(const Tasks& tasks) = 0;

    // Whether every list of `tasks` has a dedicated connection on this stream.
    virtual bool carries(const Tasks& tasks, const Stream& stream) const = 0;

    // Prepares the connections for them, once. False: there are no descriptors left.
    virtual bool reserve(const Tasks& tasks, const Stream& stream) = 0;

    // REQUIRES: carries(); reserve(); the lists are idle; the calling thread may own them.
    virtual void begin(Lists& lists, const Stream& stream, const Binding& binding,
                       std::byte* scratch) = 0;

    // Completes when the list has reached this report.
    virtual Posted await(Lists& lists, std::uint32_t list, std::uint32_t report, Token token) = 0;
    // Lets the list pass its next `go`.
    virtual void enable(Lists& lists, std::uint32_t list) = 0;

    // For a transport's completion with a token of this object. granted(): the list's place is
    // granted. broken(): the list is broken, granted or not; returns the context of the run, which
    // cannot go on.
    virtual void granted(std::uint32_t list) = 0;
    virtual std::uint64_t broken(std::uint32_t list) = 0;

    // Who owns lists: the thread that made this object, or the progress thread.
    virtual void set_own(bool own) = 0;
    // Whether the calling thread may own lists.
    virtual bool may_own() const = 0;
    // Lists are in flight: the thread that owns them must not end.
    virtual bool is_busy() const = 0;
    // Lists wait for a thread that may own them.
    virtual bool needs_owner() const = 0;
    // Submits them. REQUIRES: may_own().
    virtual void submit() = 0;

    // Whether arriving data should wake a thread: lists need further batches.
    virtual bool needs_attention() const = 0;
};

}  // namespace weft
