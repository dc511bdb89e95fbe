// Which runs are offered to io_uring, when, and which thread submits their task lists.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <memory>

#include "base/engine_kind.h"
#include "base/status.h"
#include "run/executor.h"
#include "schedule/tasks/tasks.h"

namespace weft {

// What of a schedule can be offloaded; compiled when that is first asked for.
struct OffloadPlan {
    std::unique_ptr<Tasks> tasks;  // null: not compiled, or nothing is worth it
    bool was_compiled = false;
    bool is_too_long = false;  // for lists
    bool pays = false;         // engines that offload only where it pays offload it
    bool was_refused = false;  // there were no descriptors left for another run's lists
};

class OffloadPolicy {
  public:
    struct Options {
        bool has_own_core = true;  // this rank shares its core with no other one
        // Some rank of the job has: auto then wants no dedicated connections.
        bool has_several_interfaces = false;
        bool offers_all = false;  // for tests: also what is not worth it, or waited for at once
    };
    OffloadPolicy(Executor& executor, Options options) : executor_(executor), options_(options) {}

    // Decides by the rules of this engine from now on.
    void set_engine(const EngineTraits& engine);

    // Whether this thread may start runs; if not, why.
    Status check_starter() const;

    // What the engine knows of a start.
    struct Start {
        bool waits = false;       // the caller waits for the run at once
        bool is_driven = false;   // it probably will soon, or another thread spins
        bool has_thread = false;  // the engine's thread runs, or can be started
    };
    // Chooses how to start a run of `group`; prepares its plan and its lists if they are needed for
    // the first time. REQUIRES: the engine offloads.
    Executor::Way prepare(Run& run, OffloadPlan& plan, const Group& group, Start start);

    // Submits what waits for that, if this thread may. False: another one must. REQUIRES:
    // needs_owner().
    bool submit();
    // Called by a thread that may own lists: begins what is offered, and submits everything.
    void begin_and_submit();
    // The executor carries out what is offered.
    void withdraw() {
        if (executor_.offloading().has_offered()) executor_.settle_offered(Executor::Way::here);
    }
    // The same, before a waiting thread drives.
    void withdraw_for_wait() {
        if (!options_.offers_all) withdraw();
    }

    // Lists are in flight or about to be: the thread that owns them must not end.
    bool is_busy() const;
    // True: the descriptor of the lists has appeared since the last call, and no sleeper watches it
    // yet.
    bool find_new_descriptor();

  private:
    bool prepare_lists(Run& run, OffloadPlan& plan, const Group& group);
    // Engine auto chose the executor.
    void count_choice(Offloading::Fallback why);
    Offload* offload() const { return executor_.offloading().offload(); }

    Executor& executor_;
    const Options options_;
    const EngineTraits* engine_ = &traits(EngineKind::manual);
    int descriptor_ = -1;  // the offload's wait_fd() at the last start
};

}  // namespace weft
