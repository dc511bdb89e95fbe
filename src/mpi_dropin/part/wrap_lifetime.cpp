// Init and Finalize, sessions, and the functions that free what operations use.
#include <cxxabi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "mpi_dropin/part/joining.h"
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/settings.h"
#include "mpi_dropin/part/statistics.h"
#include "mpi_dropin/part/underneath.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

DropInSettings agreed;                     // as the ranks have agreed
std::atomic<bool> has_initialized{false};  // by Init: MPI_Finalize prints
int world_rank = 0, world_ranks = 1;

// MPI_Finalize begins with the attributes of MPI_COMM_SELF, the oldest one last: the program's own
// delete functions still find everything.
int close_by_attribute(MPI_Comm, int keyval, void*, void*) {
    try {
        leave();
        if (agreed.prints_all_ranks) {
            statistics.print_all(world_rank, world_ranks);
        } else if (world_rank == 0 && agreed.prints_statistics) {
            statistics.print(world_rank, world_ranks);
        }
    } catch (const std::bad_alloc&) {
        return MPI_ERR_NO_MEM;
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {
        return MPI_ERR_INTERN;
    }
    return mpi.Comm_free_keyval(&keyval);
}

bool close_later() {
    int keyval = MPI_KEYVAL_INVALID;
    return mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_by_attribute, &keyval, nullptr) ==
               MPI_SUCCESS &&
           mpi.Comm_set_attr(MPI_COMM_SELF, keyval, nullptr) == MPI_SUCCESS;
}

// Whether a program may go on after failures, by MPIX_Comm_revoke and its kind: the same on all
// ranks of a job, as the launcher or a setting of the MPI says it. In MPICH it takes a device and a
// setting.
bool is_fault_tolerant() {
    if (const void* on = address_underneath("ompi_ftmpi_enabled"))
        return *static_cast<const bool*>(on);
    for (const char* name : {"MPIR_CVAR_ENABLE_FT", "MPICH_ENABLE_FT"}) {
        const char* const value = std::getenv(name);
        if (value && *value && std::strchr("1tTyY", *value)) return true;
    }
    return false;
}

void open() {
    has_initialized.store(true);
    int level = MPI_THREAD_SINGLE;
    mpi.Comm_rank(MPI_COMM_WORLD, &world_rank);
    mpi.Comm_size(MPI_COMM_WORLD, &world_ranks);
    mpi.Query_thread(&level);
    Exclusive::has_several_threads = level == MPI_THREAD_MULTIPLE;
    if (is_fault_tolerant()) {
        if (world_rank == 0) {
            std::fprintf(stderr,
                         "weft: the MPI is left alone: its fault tolerance is on (ULFM), and Weft "
                         "does not pass on revocations and deaths\n");
        }
        return;
    }
    agreed = read_settings();
    join(agreed, world_rank, world_ranks, close_later());
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

// Before it deletes attributes, MPICH polls its hooks until they are done.
int Finalize() {
    finish_all();
    return mpi.Finalize();
}

// --- Programs of sessions: their calls are counted
// -------------------------------------------------

#if WEFT_MPI_HAS_SESSIONS
std::atomic<int> sessions{0};

int Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
    const int error = mpi.Session_init(info, errhandler, session);
    if (error != MPI_SUCCESS || sessions.fetch_add(1) > 0 || has_initialized.load()) return error;
    Exclusive::has_several_threads = true;  // perhaps: each session has a level of its own
    count_operations(read_settings());
    return error;
}

void print_left_to_sessions(MPI_Session session) {
    MPI_Group world = MPI_GROUP_NULL;
    int rank = -1, ranks = 0;
    if (mpi.Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    mpi.Group_rank(world, &rank);
    mpi.Group_size(world, &ranks);
    mpi.Group_free(&world);
    if (rank == 0) statistics.print(rank, ranks);
}

int Session_finalize(MPI_Session* session) {
    if (!session) return mpi.Session_finalize(session);
    const bool is_last = sessions.fetch_sub(1) == 1;
    if (is_last && !has_initialized.load() && statistics.has_any())
        print_left_to_sessions(*session);
    return mpi.Session_finalize(session);
}
#endif

// Waits for Weft's operations on the communicator, as the MPI does for its own.
int Comm_disconnect(MPI_Comm* comm) {
    TakenComm* const taken_comm = comm ? taken(*comm) : nullptr;
    if (taken_comm) await_on(*taken_comm);
    return mpi.Comm_disconnect(comm);
}

// Null addresses go to the MPI, which reports them.
int Type_free(MPI_Datatype* type) { return type ? free_type(type) : mpi.Type_free(type); }
int Op_free(MPI_Op* op) { return op ? free_op(op) : mpi.Op_free(op); }

const Wrapper lifetime_wrappers[] = {
    wrapper_of<Init>("MPI_Init"),
    wrapper_of<Init_thread>("MPI_Init_thread"),
    wrapper_of<Finalize>("MPI_Finalize"),
    wrapper_of<Comm_disconnect>("MPI_Comm_disconnect"),
    wrapper_of<Type_free>("MPI_Type_free"),
    wrapper_of<Op_free>("MPI_Op_free"),
#if WEFT_MPI_HAS_SESSIONS
    wrapper_of<Session_init>("MPI_Session_init"),
    wrapper_of<Session_finalize>("MPI_Session_finalize"),
#endif
};

}  // namespace

AnyFunction lifetime_wrapper(const char* name) {
    return found_in(std::begin(lifetime_wrappers), std::end(lifetime_wrappers), name);
}

}  // namespace weft::dropin
