// What carries out task lists (schedule/tasks.h) beside the executor. Offered to the executor by the
// kernel engine; the executor hands it the lists of a run, and waits for their reports.
//
// Lists are handed to the operating system by a thread that owns them from then on: its steps are
// taken in that thread's name, and when it ends before they do, they end too.
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

// This thread lives as long as the engine, and may own lists.
inline thread_local bool is_progress_thread = false;

class Offload : public CompletionSource {
  public:
    // The lists of one run: made once, begun at every start.
    class Lists {
      public:
        virtual ~Lists() = default;
        virtual std::int64_t memory_bytes() const = 0;
        // Adds the ranks of the job whose messages are missing; or, `sends`, that have not taken
        // theirs.
        virtual void add_late(bool sends, std::vector<Rank>& ranks) const = 0;
    };

    // Fails when there are no descriptors left for what joins the lists. `tasks` must live longer.
    virtual Result<std::unique_ptr<Lists>> make(const Tasks& tasks) = 0;

    // Whether every list of `tasks` has a connection of its own on this stream.
    virtual bool carries(const Tasks& tasks, const Stream& stream) const = 0;

    // Sees to it, once, that they can run there. False: there are no descriptors left.
    virtual bool reserve(const Tasks& tasks, const Stream& stream) = 0;

    // REQUIRES: carries(); reserve(); the lists are not under way; the calling thread may own them.
    virtual void begin(Lists& lists, const Stream& stream, const Binding& binding,
                       std::byte* scratch) = 0;

    // Completes when the list has come to its report.
    virtual Posted await(Lists& lists, std::uint32_t list, std::uint32_t report, Token token) = 0;
    // Lets the list pass its next `go`.
    virtual void enable(Lists& lists, std::uint32_t list) = 0;

    // A transport's completion with a token of this object: a place that was asked for is granted; or
    // broken, granted or not. The latter returns the context of the run, which cannot go on.
    virtual void granted(std::uint32_t list) = 0;
    virtual std::uint32_t broken(std::uint32_t list) = 0;

    // Whether the thread that made this object owns what it starts, or the progress thread does.
    virtual void set_own(bool own) = 0;
    // Whether the calling thread may own lists.
    virtual bool may_own() const = 0;
    // Lists are under way, and with them the thread that owns them.
    virtual bool is_busy() const = 0;
    // Something is to be handed over that the threads which came by must not own.
    virtual bool needs_owner() const = 0;
    // Does so; by a thread that may own it.
    virtual void hand_over() = 0;

    // Somebody should be woken by what arrives: lists go on only when they are looked after.
    virtual bool needs_attention() const = 0;
    // Messages are awaited whose headers should be looked at now and then: one of another size
    // than expected ends nothing by itself.
    virtual bool awaits_messages() const = 0;
};

}  // namespace weft
