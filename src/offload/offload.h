// The door to offloading: which runs become task lists (offload/task_lists.h), and what carries
// them out while the program computes.
//
// A start asks accepts(). An accepted run is kept until a thread that may own its lists comes by:
// then, if admits() says so, its lists begin, and the executor carries out the rest of it. If the
// program waits for the run before, the executor carries out all of it.
//
// The thread that submits lists to the kernel owns them: their steps run in its context, and if it
// ends before they do, they are cancelled.
//
// Running out of memory: accepts(), admits() and begin() may throw std::bad_alloc; after begin()
// has, cancel_context() of the context ends what it began. Nothing else throws.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/engine_kind.h"
#include "base/status.h"
#include "offload/task_lists.h"
#include "transport/dedicated.h"
#include "transport/transport.h"

namespace weft {

// Whether this is the engine's thread. It lives as long as the engine, and may own lists.
inline thread_local bool is_progress_thread = false;

// What of a schedule can be offloaded; compiled when that is first asked for.
struct OffloadPlan {
    const Schedule& schedule;
    std::unique_ptr<Tasks> tasks{};  // null: not compiled, or nothing is worth it
    bool was_compiled = false;
    bool is_too_long = false;  // for lists
    bool pays = false;         // engines that offload only where it pays offload it
    bool was_refused = false;  // there were no descriptors left for another run's lists
};

class Offload : public CompletionSource {
  public:
    struct Options {
        unsigned queue_depth = 1024;  // entries submitted at a time
        bool has_own_core = true;     // this rank shares its core with no other one
        // Some rank of the job has: auto then wants no dedicated connections.
        bool has_several_interfaces = false;
        bool offers_all = false;  // for tests: also what is not worth it, or waited for at once
    };
    // `routes`: by rank of the job. The calling thread joins the job.
    Offload(const std::vector<Transport*>& routes, Options options);

    // The lists of one run: made once, begun at every start that offloads it.
    class Lists {
      public:
        explicit Lists(const Tasks& compiled) : tasks(compiled) {}
        virtual ~Lists() = default;
        virtual std::int64_t memory_bytes() const = 0;
        // Adds the ranks of the job whose messages are missing; with `sends`, those that have not
        // taken ours.
        virtual void add_late(bool sends, std::vector<Rank>& ranks) const = 0;

        const Tasks& tasks;
    };

    // --- Whether a run is offloaded --------------------------------------------------------------

    // Decides by the rules of this engine from now on.
    void set_engine(const EngineTraits& engine) { engine_ = &engine; }

    // Whether the calling thread may own lists: the progress thread, or with some engines the one
    // that joined the job.
    bool may_own() const {
        return is_progress_thread ||
               (engine_->needs_joiner && pthread_equal(pthread_self(), joiner_) != 0);
    }
    // Whether this thread may start runs; if not, why.
    Status check_starter() const {
        return !engine_->needs_joiner || may_own() ? ok : refuse_starter();
    }

    // What is known of a start.
    struct Start {
        std::span<const Rank> members{};  // of the group: rank of the job
        bool has_dedicated = false;       // some streams of the group have dedicated connections
        bool waits = false;               // the caller waits for the run at once
        bool is_driven = false;           // it probably will soon, or another thread spins
        bool has_thread = false;          // the engine's thread runs, or can be started
    };
    // Decides whether the run is a candidate; compiles the plan and makes the run's lists if they
    // are needed for the first time. REQUIRES: the engine offloads.
    bool accepts(OffloadPlan& plan, std::unique_ptr<Lists>& lists, const Start& start);
    // There was no memory for that, or the program waits before the accepted run has begun.
    void note_no_memory();
    void note_waited_for();

    // What lists are bound to.
    struct Call {
        Rank member(Rank rank) const { return members[static_cast<std::size_t>(rank)]; }
        // The name of the list's connection.
        StreamId stream_of(const TaskList& list) const {
            return list.is_control ? cts_stream_of(stream) : stream;
        }

        StreamId stream{};
        std::span<const Rank> members{};  // ranks of the job
        const std::byte* send = nullptr;
        std::byte* recv = nullptr;
        std::byte* scratch = nullptr;
    };
    // Decides whether the lists of an accepted run can begin now. `is_clear`: no earlier run has
    // messages to post on their lanes.
    bool admits(const Lists& lists, const Call& call, bool is_clear);

    // Runs that began as task lists.
    std::uint64_t begun() const { return begun_; }
    // "12 operations offloaded, 3 not: 3 on streams without dedicated connections"; "" if no
    // operation was a candidate.
    std::string summary() const;
    // Waits do not take back what is kept.
    bool offers_all() const { return options_.offers_all; }

    // --- Task lists ------------------------------------------------------------------------------

    // REQUIRES: admits(); the lists are idle; the calling thread may own them.
    virtual void begin(Lists& lists, const Call& call) = 0;

    // Completes when the list has reached this report.
    virtual Posted await(Lists& lists, std::uint32_t list, std::uint32_t report, Token token) = 0;
    // Lets the list pass its next `go`.
    virtual void enable(Lists& lists, std::uint32_t list) = 0;

    // For a transport's completion with a token of this object. granted(): the list's place is
    // granted. broken(): the list is broken, granted or not; returns the context of the run, which
    // cannot go on.
    virtual void granted(std::uint32_t list) = 0;
    virtual std::uint64_t broken(std::uint32_t list) = 0;

    // Lists are in flight: the thread that owns them must not end.
    virtual bool is_busy() const = 0;
    // Lists wait for a thread that may own them.
    virtual bool needs_owner() const = 0;
    // Submits them. REQUIRES: may_own().
    virtual void submit() = 0;

    // Whether arriving data should wake a thread: lists need further batches.
    virtual bool needs_attention() const = 0;

  protected:
    DedicatedConnections* connections_to(Rank peer) const {
        const auto at = static_cast<std::size_t>(peer);
        return at < connections_.size() ? connections_[at] : nullptr;  // (of another job)
    }

    const Options options_;
    std::vector<DedicatedConnections*> connections_;  // by rank of the job; null: none

  private:
    // Fails when there are no descriptors left for eventfds. `tasks` must outlive the result.
    virtual Result<std::unique_ptr<Lists>> make(const Tasks& tasks) = 0;
    // Prepares the connections for them, once. False: there are no descriptors left.
    virtual bool reserve(const Tasks& tasks, const Call& call) = 0;

    enum class Decline : std::uint8_t;  // why a run is not offloaded
    static constexpr std::size_t declines = 10;
    bool decline(Decline why);
    bool decline_by_choice(Decline why);
    void compile(OffloadPlan& plan, std::span<const Rank> members) const;
    Status refuse_starter() const;

    const pthread_t joiner_;
    const EngineTraits* engine_ = &traits(EngineKind::manual);
    std::uint64_t begun_ = 0;
    std::array<std::uint64_t, declines> declined_{};
};

// Why this process cannot use io_uring: not in this build, refused by the operating system, or too
// old. Empty: it can. Tried once, then remembered.
const std::string& kernel_engine_absence();

// Null: no rank has dedicated connections, or kernel_engine_absence() says why.
std::unique_ptr<Offload> make_offload(const std::vector<Transport*>& routes,
                                      Offload::Options options);

// How many operations were offloaded, and why others were not. Empty: the engine offloads none.
std::string offload_account(const Offload* offload, const EngineTraits& engine,
                            const std::vector<Transport*>& routes);

// How many streams of a communicator get dedicated connections: the first ones. Its members agree
// when it is made: each says how many streams it can still serve, and whether it wants any. A
// stream takes one connection per pair of members. If two threads make communicators at the same
// time, nothing is offered to both.
struct DedicatedShare {
    std::uint32_t streams_left = 0;
    std::uint32_t is_wanted = 0;  // 0 or 1
};

// Whether an engine wants them. Auto goes without if some rank of the job has several interfaces: a
// dedicated connection uses one of them, and what it carries cannot use the others.
bool wants_dedicated(EngineKind engine, bool has_several_interfaces);

// As many streams as every member can serve, if any member wants them.
std::uint32_t agreed_streams(std::span<const DedicatedShare> members);

}  // namespace weft
