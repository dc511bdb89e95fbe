// Init and Finalize, and the ends of what operations use.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

bool is_open = false;
bool prints_statistics = false;
bool has_joined = false;  // Weft, which the program may use as well

// --- Joining: each rank's card is exchanged together with Weft's first one ---------------------------

struct MpiCard {
    std::uint64_t agreed;       // a hash of the settings
    std::uint64_t is_multiple;  // MPI_THREAD_MULTIPLE
};

struct Exchange {
    MpiCard mine{};
    std::vector<MpiCard> all{};
};

int allgather(void* context, const void* mine, void* all, int bytes) {
    auto& exchange = *static_cast<Exchange*>(context);
    statistics.count_allgather();
    if (!exchange.all.empty()) {
        return mpi.Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
    }
    int ranks = 0;
    mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    const std::size_t size = sizeof(MpiCard) + static_cast<std::size_t>(bytes);
    std::vector<std::byte> sent(size), received(size * static_cast<std::size_t>(ranks));
    std::memcpy(sent.data(), &exchange.mine, sizeof(MpiCard));
    std::memcpy(sent.data() + sizeof(MpiCard), mine, static_cast<std::size_t>(bytes));
    const int error = mpi.Allgather(sent.data(), static_cast<int>(size), MPI_BYTE, received.data(),
                                    static_cast<int>(size), MPI_BYTE, MPI_COMM_WORLD);
    if (error != MPI_SUCCESS) return error;
    exchange.all.resize(static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < exchange.all.size(); ++i) {
        std::memcpy(&exchange.all[i], &received[i * size], sizeof(MpiCard));
        std::memcpy(static_cast<std::byte*>(all) + i * static_cast<std::size_t>(bytes),
                    &received[i * size + sizeof(MpiCard)], static_cast<std::size_t>(bytes));
    }
    return MPI_SUCCESS;
}

// The first rank whose settings differ from rank 0's; -1: none.
int differing_rank(const Exchange& exchange) {
    for (std::size_t i = 0; i < exchange.all.size(); ++i) {
        if (exchange.all[i].agreed != exchange.all[0].agreed) return static_cast<int>(i);
    }
    return -1;
}

// Lets every rank talk to every other, and says how that went.
void try_all_pairs(weft_comm world, int rank, int ranks) {
    const auto size = static_cast<std::size_t>(ranks);
    std::vector<std::int32_t> sent(size, rank), received(size, -1);
    weft_comm pairs = WEFT_COMM_NULL;
    weft_status status = weft_comm_dup_with(world, "alltoall=pairwise", &pairs);
    if (status == WEFT_OK)
        status = weft_alltoall(sent.data(), received.data(), 1, WEFT_INT32, pairs);
    if (status != WEFT_OK) {
        std::fprintf(stderr, "weft: check: rank %d: %s\n", rank, weft_last_detail());
    } else if (rank == 0) {
        std::fprintf(stderr, "weft: check: each of %d ranks has talked to every other\n", ranks);
    }
    if (pairs) weft_comm_free(&pairs);
}

// Joins Weft's job. False: everything is left to the MPI, on all ranks.
bool join(Settings& settings, int rank, int ranks) {
    Exchange exchange;
    exchange.mine = {settings.agreed, Exclusive::has_several_threads ? 1u : 0u};
    weft_oob oob{};
    oob.struct_bytes = sizeof oob;
    oob.context = &exchange;
    oob.rank = rank;
    oob.ranks = ranks;
    oob.allgather = allgather;
    weft_comm world = WEFT_COMM_NULL;
    has_joined = weft_is_initialized() == 0;
    const weft_status status = weft_comm_from_oob(&oob, &world);
    const char* const detail = status == WEFT_OK ? "" : weft_last_detail();
    int is_usable = status == WEFT_OK;
    if (is_usable && (weft_get_engine() == WEFT_ENGINE_MANUAL)) {
        is_usable = 0;
        if (rank == 0) {
            std::fprintf(stderr,
                         "weft: the MPI is left alone: the engine manual would stand still while a "
                         "program is "
                         "inside a call of the MPI\n");
        }
    }
    const int differing = exchange.all.empty() ? -1 : differing_rank(exchange);
    int all_usable = 0;
    mpi.Allreduce(&is_usable, &all_usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (status != WEFT_OK) {
        std::fprintf(stderr, "weft: rank %d leaves the MPI alone: %s\n", rank, detail);
    } else if (differing >= 0 && rank == 0) {
        std::fprintf(
            stderr,
            "weft: the MPI is left alone: WEFT_DISABLE, WEFT_BLOCKING or WEFT_MIN_BYTES of rank %d "
            "differ from rank 0's\n",
            differing);
    }
    if (!all_usable || differing >= 0) return false;
    settings.calls_back = std::all_of(exchange.all.begin(), exchange.all.end(),
                                      [](const MpiCard& card) { return card.is_multiple != 0; });
    if (const char* checks = std::getenv("WEFT_PRELOAD_CHECK"); checks && *checks == '1') {
        try_all_pairs(world, rank, ranks);
    }
    return take_first_communicators(world);
}

void open() {
    int rank = 0, ranks = 1, level = MPI_THREAD_SINGLE;
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    mpi.Query_thread(&level);
    Exclusive::has_several_threads = level == MPI_THREAD_MULTIPLE;
    Settings settings = read_settings();
    prints_statistics = settings.prints_statistics;
    if (learn_predefined_types() != MPI_SUCCESS) return;
    if (!join(settings, rank, ranks)) return;
    is_open = open_operations(settings) == MPI_SUCCESS;
}

void close() {
    if (is_open) {
        is_open = false;
        close_operations();
        leave_communicators();
        forget_types();
    }
    if (has_joined && weft_is_initialized() && weft_finalize() != WEFT_OK) {
        std::fprintf(stderr, "weft: %s\n", weft_last_detail());
    }
}

int Init(int* argc, char*** argv) {
    const int error = mpi.Init(argc, argv);
    if (error == MPI_SUCCESS) open();
    return error;
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int error = mpi.Init_thread(argc, argv, required, provided);
    if (error == MPI_SUCCESS) open();
    return error;
}

int Finalize() {
    int rank = 0, ranks = 1;
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    close();
    if (rank == 0 && prints_statistics) statistics.print(rank, ranks);
    return mpi.Finalize();
}

// Waits for Weft's operations on the communicator, as the MPI does for its own.
int Comm_disconnect(MPI_Comm* comm) {
    TakenComm* const taken_comm = comm ? taken(*comm) : nullptr;
    if (taken_comm) await_on(*taken_comm);
    return mpi.Comm_disconnect(comm);
}

int Type_free(MPI_Datatype* type) { return free_type(type); }
int Op_free(MPI_Op* op) { return free_op(op); }

const Wrapper wrappers[] = {
    wrapper("MPI_Init", Init),           wrapper("MPI_Init_thread", Init_thread),
    wrapper("MPI_Finalize", Finalize),   wrapper("MPI_Comm_disconnect", Comm_disconnect),
    wrapper("MPI_Type_free", Type_free), wrapper("MPI_Op_free", Op_free),
};

}  // namespace

AnyFunction lifetime_wrapper(const char* name) {
    return found_in(std::begin(wrappers), std::end(wrappers), name);
}

}  // namespace weft::dropin
