// Init and Finalize, and the ends of what operations use.
#include "mpi_dropin/part/exclusive.h"
#include "mpi_dropin/part/joining.h"
#include "mpi_dropin/part/operations.h"
#include "mpi_dropin/part/settings.h"
#include "mpi_dropin/part/statistics.h"
#include "mpi_dropin/part/wrappers.h"

namespace weft::dropin {
namespace {

DropInSettings settings;  // as the ranks have agreed

void open() {
    int rank = 0, ranks = 1, level = MPI_THREAD_SINGLE;
    mpi.Comm_rank(MPI_COMM_WORLD, &rank);
    mpi.Comm_size(MPI_COMM_WORLD, &ranks);
    mpi.Query_thread(&level);
    Exclusive::has_several_threads = level == MPI_THREAD_MULTIPLE;
    settings = read_settings();
    join(settings, rank, ranks);
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
    leave();
    if (settings.prints_all_ranks) {
        statistics.print_all(rank, ranks);
    } else if (rank == 0 && settings.prints_statistics) {
        statistics.print(rank, ranks);
    }
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
