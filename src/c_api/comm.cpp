// The bodies of weft/comm.h and weft/oob.h.
#include "weft/comm.h"

#include "weft/oob.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/setting.h"
#include "base/thread.h"
#include "c_api/guard.h"
#include "offload/offload.h"
#include "process/construct.h"
#include "process/join/join.h"
#include "process/neighbors.h"
#include "startup/oob.h"

using namespace weft;

namespace {

std::mutex lifetime_mutex;  // weft_init and weft_finalize
// Owned. Only weft_finalize ends it: a process that exits without it must look dead to its peers.
std::atomic<Process*> process_pointer{nullptr};
Process* volatile parents_process = nullptr;  // in a forked child, where it is never used
bool finalized = false;
bool tells_statistics = false;

// What wakes the progress thread.
const char* wakes(Process& process) {
    if (!traits(process.engine().kind()).has_sleeper) return "";
    if (!process.engine().works_on_demand()) return " (eager)";
    return process.executor().some_are_eager() ? " (on demand within its node)" : " (on demand)";
}

void tell_statistics(Process& process) {
    const Engine& engine = process.engine();
    const std::string offloaded = process.offload_account();
    const std::int64_t saved = process.saved_bytes();
    const std::string shorter =
        saved > 0 ? "; wire formats saved " + std::to_string(saved) + " bytes of messages" : "";
    std::fprintf(stderr, "weft: rank %d: %llu operations, engine %s%s%s%s%s; started by %s\n",
                 process.rank(), static_cast<unsigned long long>(process.executor().started()),
                 traits(engine.kind()).name, wakes(process), offloaded.empty() ? "" : "; ",
                 offloaded.c_str(), shorter.c_str(), process.startup().c_str());
}

weft_comm handle(Process& process, const Communicator* made) {
    return made ? reinterpret_cast<weft_comm>(process.handle_of(*made)) : WEFT_COMM_NULL;
}

// Makes a communicator. `arguments`: whether this rank's are good; if they are bad, the other ranks
// must hear of it.
Status make(Process& process, Communicator& parent, Construction mine, const Status& arguments,
            weft_comm* new_comm, const char* settings = "",
            std::unique_ptr<const Neighborhood> neighbors = nullptr) {
    mine.is_refused = !arguments.is_ok();
    const std::string sentence = mine.is_refused ? last_detail() : "";
    Result<Communicator*> made = construct(process, parent, mine, settings, std::move(neighbors));
    if (mine.is_refused && !made.status().is_broken())
        return failure(arguments.code, "%s", sentence.c_str());
    if (!made.is_ok()) return made.status();
    *new_comm = handle(process, *made);
    return ok;
}

weft_status construct_for(const char* function, weft_comm comm, Construction mine,
                          weft_comm* new_comm, const char* settings = "") {
    return c_api::guarded_communicator(
        function, comm, [&](Process& process, Communicator& parent) -> Status {
            Status arguments = c_api::check_address("new_comm", new_comm);
            if (arguments.is_ok() && mine.color < 0 && mine.color != WEFT_COLOR_NONE)
                arguments =
                    failure(WEFT_REFUSED_ARGUMENT,
                            "color = %d; expected 0 or more, or WEFT_COLOR_NONE", mine.color);
            return make(process, parent, mine, arguments, new_comm, settings ? settings : "");
        });
}

// Makes a communicator with a topology. `arguments(parent, mine)` checks the call's and returns
// this rank's neighborhood.
template <class Arguments>
weft_status construct_topology(const char* function, weft_comm comm, Construction::Kind kind,
                               weft_comm* new_comm, Arguments arguments) {
    return c_api::guarded_communicator(
        function, comm, [&](Process& process, Communicator& parent) -> Status {
            Construction mine = {.kind = kind};
            Result<Neighborhood> neighbors = arguments(parent, mine);
            auto kept = std::make_unique<const Neighborhood>(
                neighbors.is_ok() ? std::move(*neighbors) : Neighborhood{});
            const Status good =
                neighbors.is_ok() ? c_api::check_address("new_comm", new_comm) : neighbors.status();
            return make(process, parent, mine, good, new_comm, "", std::move(kept));
        });
}

// For functions that say who a rank's neighbors are.
template <class Body>
weft_status with_neighbors(const char* function, weft_comm comm, Body body) {
    return c_api::guarded_communicator(
        function, comm, [&](Process&, Communicator& communicator) -> Status {
            if (communicator.neighbors()) return body(*communicator.neighbors());
            return failure(WEFT_REFUSED_ARGUMENT,
                           "comm = %s has no topology; expected one made by weft_comm_cart or "
                           "weft_comm_graph",
                           communicator.name().c_str());
        });
}

// Copies the first of them, as many as there is room for.
void tell_ranks(std::span<const int> room, int* into, std::span<const Rank> ranks) {
    static_assert(no_rank == WEFT_RANK_NONE);
    std::ranges::copy(ranks.first(std::min(room.size(), ranks.size())), into);
}

// Joins the process to a job.
template <class Join>
Status become(Join join) {
    Result<std::unique_ptr<Process>> joined = join();
    if (!joined.is_ok()) return joined.status();
    // (All says more to the drop-in library alone.)
    const std::string_view statistics = text_setting("WEFT_STATS");
    tells_statistics = statistics == "1" || statistics == "all";
    process_pointer.store(joined->release(), std::memory_order_release);
    // Exit handlers run in reverse order of registration: the engine's threads end before the
    // libraries that they use are cleaned up, and before libweft is unloaded.
    (void)std::atexit([] {
        constexpr std::int64_t patience_ns = 1'000'000'000;
        // A thread that joins or leaves holds it, perhaps this one, if it calls exit() there.
        std::unique_lock<std::mutex> lifetime(lifetime_mutex, std::try_to_lock);
        if (!lifetime) return;
        if (Process* process = c_api::current_process()) process->engine().end_threads(patience_ns);
    });
    // A forked child is not a rank: it must neither use its parent's connections nor hold them.
    pthread_atfork(nullptr, nullptr, [] {
        parents_process = process_pointer.exchange(nullptr);
        UnsharedFd::close_all_in_child();
    });
    return ok;
}

// While it lives, what is pending moves although no engine's thread does that: another process may
// have to complete something with this one before it comes to a collective call of another library.
class MovesMeanwhile {
  public:
    explicit MovesMeanwhile(Process* process) : process_(process) {
        const auto is_of_any_thread = [](const Transport* transport) {
            return transport->abilities().any_thread;
        };
        if (process == nullptr || traits(process->engine().kind()).has_thread() ||
            !std::ranges::all_of(process->executor().transports(), is_of_any_thread) ||
            !process->engine().call([&] { return process->executor().is_pending(); }))
            return;
        try {
            (void)thread_.start([this] { move(); });
        } catch (const std::bad_alloc&) {
            // As if it was refused: nothing moves.
        }
    }
    ~MovesMeanwhile() {
        is_over_ = true;
        if (thread_.joinable()) thread_.join();
    }
    MovesMeanwhile(const MovesMeanwhile&) = delete;
    MovesMeanwhile& operator=(const MovesMeanwhile&) = delete;

  private:
    static constexpr timespec pause{0, 100'000};

    void move() {
        while (!is_over_) {
            process_->engine().call([&] { process_->executor().progress(Callable::unconfined); });
            nanosleep(&pause, nullptr);
        }
    }

    Process* const process_;
    std::atomic<bool> is_over_{false};
    Thread thread_;
};

}  // namespace

Process* c_api::current_process() { return process_pointer.load(std::memory_order_acquire); }

weft_status weft_init(void) {
    return c_api::guarded("weft_init", []() -> Status {
        const UserThreads::Pin pin;
        const Uncancelled uncancelled;
        std::lock_guard<std::mutex> one(lifetime_mutex);
        if (c_api::current_process()) {
            return failure(WEFT_REFUSED_STATE, "Weft is already initialized");
        }
        if (finalized) {
            return failure(WEFT_REFUSED_STATE,
                           "Weft was finalized; a process can join its job only once");
        }
        return become([] { return join_job(); });
    });
}

weft_status weft_comm_from_oob(const weft_oob* oob, weft_comm* comm) {
    return c_api::guarded("weft_comm_from_oob", [&]() -> Status {
        if (!oob || oob->struct_bytes != sizeof *oob || !oob->allgather || oob->ranks < 1 ||
            oob->rank < 0 || oob->rank >= oob->ranks) {
            return failure(WEFT_REFUSED_ARGUMENT, "oob = %s; expected a weft_oob of this version",
                           oob ? "unknown" : "null");
        }
        WEFT_RETURN_IF_NOT_OK(c_api::check_address("comm", comm));
        const UserThreads::Pin pin;
        const Uncancelled uncancelled;
        std::lock_guard<std::mutex> one(lifetime_mutex);
        const Membership mine = finalized                  ? Membership::left
                                : c_api::current_process() ? Membership::member
                                                           : Membership::none;
        const MovesMeanwhile moves(c_api::current_process());
        bool others_are_members = false;
        if (mine == Membership::none) {
            Status joined = become([&] { return join_job(*oob, others_are_members); });
            if (others_are_members) {
                joined = become([] { return join_alone(); });
                if (!joined.is_ok()) return refuse_group(*oob, joined);
            }
            WEFT_RETURN_IF_NOT_OK(joined);
        } else {
            WEFT_RETURN_IF_NOT_OK(OobStartup::agree_on_membership(*oob, mine));
        }
        Process& process = *c_api::current_process();
        const bool is_job = mine == Membership::none && !others_are_members;
        Result<Communicator*> made = is_job ? adopt_job(process) : adopt(process, *oob);
        if (!made.is_ok()) return made.status();
        *comm = reinterpret_cast<weft_comm>(process.handle_of(**made));
        return ok;
    });
}

weft_status weft_finalize(void) {
    return c_api::guarded("weft_finalize", []() -> Status {
        const UserThreads::Pin pin;
        const Uncancelled uncancelled;
        std::lock_guard<std::mutex> one(lifetime_mutex);
        Process* const process = c_api::current_process();
        if (!process) return failure(WEFT_REFUSED_STATE, "Weft is not initialized");
        Engine& engine = process->engine();
        const Status drained = engine.call([&]() -> Status {
            engine.progress();
            WEFT_RETURN_IF_NOT_OK(process->refuse_outstanding());
            // Completed operations may still have bytes to send.
            Executor& executor = process->executor();
            if (engine.wait_until([&] { return !executor.has_work(); }, {.interruptible = false}) ==
                WEFT_TIMED_OUT) {
                return failure(WEFT_TIMED_OUT,
                               "%s did not take all messages of completed operations",
                               listed_processes(executor.owed_ranks(), process->ranks()).c_str());
            }
            return ok;
        });
        WEFT_RETURN_IF_NOT_OK(drained);
        if (tells_statistics) tell_statistics(*process);
        process_pointer.store(nullptr, std::memory_order_release);
        finalized = true;
        delete process;
        return ok;
    });
}

int weft_is_initialized(void) { return c_api::current_process() != nullptr; }

weft_comm weft_comm_world(void) {
    Process* process = c_api::current_process();
    return process ? reinterpret_cast<weft_comm>(process->world_handle()) : WEFT_COMM_NULL;
}

weft_comm weft_comm_self(void) {
    Process* process = c_api::current_process();
    return process ? reinterpret_cast<weft_comm>(process->self_handle()) : WEFT_COMM_NULL;
}

weft_status weft_comm_dup(weft_comm comm, weft_comm* new_comm) {
    return construct_for("weft_comm_dup", comm, {.kind = Construction::Kind::dup}, new_comm);
}

weft_status weft_comm_dup_with(weft_comm comm, const char* settings, weft_comm* new_comm) {
    return construct_for("weft_comm_dup_with", comm, {.kind = Construction::Kind::dup_with},
                         new_comm, settings);
}

weft_status weft_comm_split(weft_comm comm, int color, int key, weft_comm* new_comm) {
    return construct_for("weft_comm_split", comm,
                         {.kind = Construction::Kind::split, .color = color, .key = key}, new_comm);
}

weft_status weft_comm_split_node(weft_comm comm, int key, weft_comm* new_comm) {
    return construct_for("weft_comm_split_node", comm,
                         {.kind = Construction::Kind::split_node, .key = key}, new_comm);
}

weft_status weft_comm_cart(weft_comm comm, int ndims, const int dims[], const int periods[],
                           weft_comm* new_comm) {
    return construct_topology(
        "weft_comm_cart", comm, Construction::Kind::cart, new_comm,
        [=](const Communicator& parent, Construction& mine) -> Result<Neighborhood> {
            Result<Grid> grid = Grid::of_arguments(ndims, dims, periods, parent.ranks());
            if (!grid.is_ok()) return grid.status();
            mine.grid = grid->digest();
            if (parent.rank() < grid->places)
                return grid_neighbors(grid->dimensions, parent.rank());
            mine.color = WEFT_COLOR_NONE;
            return Neighborhood{};
        });
}

weft_status weft_comm_graph(weft_comm comm, int indegree, const int sources[], int outdegree,
                            const int destinations[], weft_comm* new_comm) {
    return construct_topology("weft_comm_graph", comm, Construction::Kind::graph, new_comm,
                              [=](const Communicator& parent, Construction&) {
                                  return graph_of_arguments(indegree, sources, outdegree,
                                                            destinations, parent.ranks());
                              });
}

weft_status weft_comm_neighbors_count(weft_comm comm, int* indegree, int* outdegree) {
    return with_neighbors("weft_comm_neighbors_count", comm,
                          [&](const Neighborhood& neighbors) -> Status {
                              WEFT_RETURN_IF_NOT_OK(c_api::check_address("indegree", indegree));
                              WEFT_RETURN_IF_NOT_OK(c_api::check_address("outdegree", outdegree));
                              *indegree = static_cast<int>(neighbors.sources.size());
                              *outdegree = static_cast<int>(neighbors.destinations.size());
                              return ok;
                          });
}

weft_status weft_comm_neighbors(weft_comm comm, int max_indegree, int sources[], int max_outdegree,
                                int destinations[]) {
    return with_neighbors(
        "weft_comm_neighbors", comm, [&](const Neighborhood& neighbors) -> Status {
            auto in = number_array("max_indegree", max_indegree, "sources", sources);
            if (!in.is_ok()) return in.status();
            auto out = number_array("max_outdegree", max_outdegree, "destinations", destinations);
            if (!out.is_ok()) return out.status();
            tell_ranks(*in, sources, neighbors.sources);
            tell_ranks(*out, destinations, neighbors.destinations);
            return ok;
        });
}

weft_status weft_comm_free(weft_comm* comm) {
    return c_api::guarded_communicator(
        "weft_comm_free", comm ? *comm : WEFT_COMM_NULL,
        [&](Process& process, Communicator& communicator) -> Status {
            if (&communicator == &process.world() || &communicator == &process.self()) {
                return failure(
                    WEFT_REFUSED_ARGUMENT,
                    "comm = %s; expected a communicator that a constructor made, such as "
                    "weft_comm_dup",
                    communicator.name().c_str());
            }
            process.free(communicator);
            *comm = WEFT_COMM_NULL;
            return ok;
        });
}

weft_status weft_comm_abort(weft_comm comm, const char* reason) {
    return c_api::guarded_communicator(
        "weft_comm_abort", comm, [&](Process&, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("reason", reason));
            communicator.abort(reason);
            return ok;
        });
}

weft_status weft_comm_rank(weft_comm comm, int* rank) {
    return c_api::guarded_communicator(
        "weft_comm_rank", comm, [&](Process&, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("rank", rank));
            *rank = communicator.rank();
            return ok;
        });
}

weft_status weft_comm_size(weft_comm comm, int* size) {
    return c_api::guarded_communicator(
        "weft_comm_size", comm, [&](Process&, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("size", size));
            *size = communicator.ranks();
            return ok;
        });
}

weft_status weft_set_engine(weft_engine engine) {
    return c_api::guarded("weft_set_engine", [&]() -> Status {
        const Uncancelled uncancelled;
        Process* process = c_api::current_process();
        if (!process) {
            return failure(WEFT_REFUSED_STATE, "Weft is not initialized; expected weft_init first");
        }
        const std::optional<EngineKind> kind = engine_numbered(engine);
        if (!kind) {
            return failure(WEFT_REFUSED_ARGUMENT, "engine = %d; expected one of weft_engine",
                           static_cast<int>(engine));
        }
        const EngineTraits& wanted = traits(*kind);
        if (wanted.offloads && !wanted.only_where_it_pays && !kernel_engine_absence().empty()) {
            return failure(WEFT_REFUSED_UNSUPPORTED, "engine %s is not available: %s", wanted.name,
                           kernel_engine_absence().c_str());
        }
        WEFT_RETURN_IF_NOT_OK(process->check_engine(*kind));
        process->engine().set_kind(*kind);
        return ok;
    });
}

weft_engine weft_get_engine(void) {
    Process* process = c_api::current_process();
    return process ? static_cast<weft_engine>(process->engine().kind()) : WEFT_ENGINE_MANUAL;
}

weft_status weft_get_statistics(weft_statistics* statistics) {
    return c_api::guarded_process("weft_get_statistics", [&](Process& process) -> Status {
        if (!statistics || statistics->struct_bytes != sizeof *statistics) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "statistics = %s; expected a weft_statistics of this version",
                           statistics ? "unknown" : "null");
        }
        const Offload* const offload = process.executor().offload();
        weft_statistics counted{};
        counted.struct_bytes = sizeof counted;
        counted.operations = process.executor().started();
        counted.offloaded = offload ? offload->begun() : 0;
        // (Also those to processes of other jobs.)
        for (const Transport* transport : process.executor().transports()) {
            const Usage usage = transport->usage();
            counted.unexpected_messages += transport->unexpected_messages();
            counted.connections += usage.connections;
            counted.descriptors += usage.descriptors;
            counted.memory_bytes += usage.bytes;
        }
        *statistics = counted;
        return ok;
    });
}

weft_status weft_comm_set_offload(weft_comm comm, int offload) {
    return c_api::guarded_communicator(
        "weft_comm_set_offload", comm, [&](Process&, Communicator& communicator) -> Status {
            if (offload != 0 && offload != 1)
                return failure(WEFT_REFUSED_ARGUMENT, "offload = %d; expected 0 or 1", offload);
            communicator.set_offload(offload == 1);
            return ok;
        });
}

weft_status weft_comm_wire_error(weft_comm comm, double* error) {
    return c_api::guarded_communicator(
        "weft_comm_wire_error", comm, [&](Process&, Communicator& communicator) -> Status {
            WEFT_RETURN_IF_NOT_OK(c_api::check_address("error", error));
            *error = double{communicator.take_wire_error()};
            return ok;
        });
}
