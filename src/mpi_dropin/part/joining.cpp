#include "mpi_dropin/part/joining.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mpi_dropin/part/communicators.h"
#include "mpi_dropin/part/datatypes.h"
#include "mpi_dropin/part/mpi_channel.h"
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/progress_hook.h"
#include "mpi_dropin/part/statistics.h"
#include "mpi_dropin/part/underneath.h"

namespace weft::dropin {
namespace {

bool has_joined = false;  // Weft, which the program may use as well

// The data that ranks exchange together with Weft's first card. Its form stays the same: ranks with
// another version of Weft learn that from Weft's cards.
struct MpiCard {
    std::uint64_t agreed;            // a hash of the settings
    std::uint64_t calls_back;        // functions of the program can run while it is inside the MPI
    std::uint64_t prints_all_ranks;  // WEFT_STATS=all, and it can when the MPI ends
    std::uint64_t tries_all_pairs;   // WEFT_PRELOAD_CHECK=1
};

struct CardExchange {
    int rank = 0;
    int ranks = 1;
    std::int64_t patience_ns = 0;
    MpiCard mine{};
    std::vector<MpiCard> all{};

    template <typename Has>
    bool all_have(Has has) const {
        return std::all_of(all.begin(), all.end(), has);
    }
};

// A rank without the library never takes part: the others must not wait forever.
int allgather_in_time(const void* mine, void* all, int bytes, const CardExchange& exchange) {
    constexpr int turns_awake = 1000;
    constexpr timespec pause{0, 100'000};
    const std::int64_t begin_ns = now_ns();
    MPI_Request request = MPI_REQUEST_NULL;
    int error =
        mpi.Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    int is_complete = 0;
    for (int turn = 0; error == MPI_SUCCESS; ++turn) {
        error = mpi.Test(&request, &is_complete, MPI_STATUS_IGNORE);
        if (is_complete) break;
        if (now_ns() - begin_ns > exchange.patience_ns) {
            std::fprintf(
                stderr,
                "weft: rank %d has waited in MPI_Init for %g s: other ranks have not come, "
                "probably because they were started without libweft_mpi.so; "
                "WEFT_STARTUP_TIMEOUT sets how long to wait\n",
                exchange.rank, static_cast<double>(exchange.patience_ns) * 1e-9);
            mpi.Abort(MPI_COMM_WORLD, 1);
        }
        if (turn < turns_awake)
            sched_yield();
        else
            nanosleep(&pause, nullptr);
    }
    return error;
}

int allgather(void* context, const void* mine, void* all, int bytes) {
    auto& exchange = *static_cast<CardExchange*>(context);
    statistics.count_allgather();
    if (!exchange.all.empty()) {
        return mpi.Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    }
    const auto ranks = static_cast<std::size_t>(exchange.ranks);
    const auto length = static_cast<std::size_t>(bytes), size = sizeof(MpiCard) + length;
    std::vector<std::byte> sent(size), received(size * ranks);
    std::memcpy(sent.data(), &exchange.mine, sizeof(MpiCard));
    std::memcpy(sent.data() + sizeof(MpiCard), mine, length);
    const int error =
        allgather_in_time(sent.data(), received.data(), static_cast<int>(size), exchange);
    if (error != MPI_SUCCESS) return error;
    exchange.all.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        std::memcpy(&exchange.all[i], &received[i * size], sizeof(MpiCard));
        std::memcpy(static_cast<std::byte*>(all) + i * length,
                    &received[i * size + sizeof(MpiCard)], length);
    }
    return MPI_SUCCESS;
}

// Lets every rank talk to every other, and reports the result. A job in which two cannot ends.
void try_all_pairs(weft_comm world, int rank, int ranks) {
    const auto size = static_cast<std::size_t>(ranks);
    std::vector<std::int32_t> sent(size, rank), received(size, -1);
    weft_comm pairs = WEFT_COMM_NULL;
    weft_status status = weft_comm_dup_with(world, "alltoall=pairwise", &pairs);
    if (status == WEFT_OK)
        status = weft_alltoall(sent.data(), received.data(), 1, WEFT_INT32, pairs);
    if (status != WEFT_OK)
        std::fprintf(stderr, "weft: check: rank %d: %s\n", rank, weft_last_detail());
    const int has_failed = status != WEFT_OK;
    int any_failed = 0;  // those who have everything do not know of the others
    mpi.Allreduce(&has_failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any_failed != 0) {
        mpi.Abort(MPI_COMM_WORLD, 1);
        std::_Exit(1);  // MPICH's may return while another rank's ends the job
    }
    if (rank == 0)
        std::fprintf(stderr, "weft: check: each of %d ranks has talked to every other\n", ranks);
    if (pairs) weft_comm_free(&pairs);
}

// Why no rank can use Weft, the same on all ranks; empty: they can.
std::string difference_of(const CardExchange& exchange) {
    for (std::size_t i = 0; i < exchange.all.size(); ++i) {
        if (exchange.all[i].agreed == exchange.all[0].agreed) continue;
        return "WEFT_DISABLE, WEFT_BLOCKING or WEFT_MIN_BYTES of rank " + std::to_string(i) +
               " differ from rank 0's";
    }
    return "";
}

// Whether only the program's calls of Weft advance operations.
bool has_no_thread() {
    const weft_engine engine = weft_get_engine();
    return engine == WEFT_ENGINE_MANUAL || engine == WEFT_ENGINE_FIBER;
}

// Why Weft would not advance while the program is inside a call of the MPI; empty: it would.
std::string reason_to_stand_still() {
    const std::string sentence = std::string("the engine ") +
                                 (weft_get_engine() == WEFT_ENGINE_FIBER ? "fiber" : "manual") +
                                 " would not advance while a program is inside a call of the MPI";
    if (!has_no_thread()) return "";
    if (!has_hook()) return sentence + ", which has no progress hook";
    // The hook may be called while another thread, which holds Weft's lock, is inside the MPI.
    if (is_mpi_channel_open() && Exclusive::has_several_threads)
        return sentence + ": with WEFT_TRANSPORT=mpi and MPI_THREAD_MULTIPLE Weft needs its thread";
    return "";
}

// Weft's thread does everything, but calls functions of the program only with MPI_THREAD_MULTIPLE.
void open_hook_where_needed() {
    int level = MPI_THREAD_SINGLE;
    mpi.Query_thread(&level);
    const bool is_manual = has_no_thread();
    if (is_manual || !Exclusive::has_several_threads) open_hook(level);
    if (is_manual) need_hook();
}

// `weft run` starts ranks of Weft's job, but to the MPI each is a program of its own.
void warn_of_lone_ranks(int ranks) {
    const char* const launched = std::getenv("WEFT_RANKS");
    const char* const rank = std::getenv("WEFT_RANK");
    if (ranks > 1 || !launched || std::atol(launched) < 2 || !rank || std::strcmp(rank, "0") != 0)
        return;
    std::fprintf(stderr,
                 "weft: weft run has started %s ranks, but the MPI sees a job of one rank in each; "
                 "start MPI programs with the MPI's launcher: mpiexec -n %s weft preload PROGRAM\n",
                 launched, launched);
}

// Why this rank cannot use Weft; empty: it can.
std::string obstacle(weft_status joined, weft_comm world, const DropInSettings& settings,
                     bool will_leave) {
    if (joined != WEFT_OK) return weft_last_detail();
    if (!settings.refusal.empty()) return settings.refusal;
    if (!will_leave) return "the MPI refused an attribute of MPI_COMM_SELF";
    if (std::string reason = reason_to_stand_still(); !reason.empty()) return reason;
    if (learn_predefined_types() != MPI_SUCCESS || !take_first_communicators(world) ||
        open_operations(settings) != MPI_SUCCESS) {
        return "the MPI refused a communicator, an attribute or a request";
    }
    return "";
}

void close() {
    close_operations();
    leave_communicators();
    forget_types();
}

}  // namespace

void join(DropInSettings& settings, int rank, int ranks, bool will_leave) {
    warn_of_lone_ranks(ranks);
    CardExchange exchange{rank, ranks, settings.patience_ns};
    exchange.mine = {settings.agreed, Exclusive::has_several_threads || has_hook() ? 1u : 0u,
                     settings.prints_all_ranks && will_leave ? 1u : 0u,
                     settings.tries_all_pairs ? 1u : 0u};
    weft_oob oob{};
    oob.struct_bytes = sizeof oob;
    oob.context = &exchange;
    oob.rank = rank;
    oob.ranks = ranks;
    oob.allgather = allgather;
    oob.mpi = mpi_channel(Exclusive::has_several_threads);
    weft_comm world = WEFT_COMM_NULL;
    has_joined = weft_is_initialized() == 0;
    const weft_status joined = weft_comm_from_oob(&oob, &world);
    if (exchange.all.empty()) exchange.all = {exchange.mine};  // a job of one rank
    settings.prints_all_ranks =
        exchange.all_have([](const MpiCard& card) { return card.prints_all_ranks != 0; });
    settings.calls_back =
        exchange.all_have([](const MpiCard& card) { return card.calls_back != 0; });

    std::string why = difference_of(exchange);
    if (why.empty()) why = obstacle(joined, world, settings, will_leave);
    const int mine = why.empty() ? ranks : rank;
    int first = ranks;  // the lowest rank that cannot use Weft; `ranks`: all can
    statistics.count_allreduce();
    mpi.Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank) {
        std::fprintf(stderr, "weft: the MPI is left alone: rank %d: %s\n", rank, why.c_str());
    }
    if (first < ranks) {
        close();
        return;
    }
    open_hook_where_needed();
    // All ranks do it if any rank wants it.
    if (!exchange.all_have([](const MpiCard& card) { return card.tries_all_pairs == 0; }))
        try_all_pairs(world, rank, ranks);
}

void finish_all() {
    await_all(pending_operations(nullptr));
    close_hook_if_awaited();
}

void leave() {
    close();
    close_hook();
    if (has_joined && weft_is_initialized() && weft_finalize() != WEFT_OK) {
        std::fprintf(stderr, "weft: %s\n", weft_last_detail());
    }
}

}  // namespace weft::dropin
