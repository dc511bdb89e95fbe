/* Open MPI with ULFM: a communicator is revoked while others wait for a collective that one rank never starts. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

int main(void) {
    int is_right = 0;
#ifdef MPIX_ERR_REVOKED
    int rank, ranks, one = 1, sum = 0, code = MPI_SUCCESS, error_class = MPIX_ERR_REVOKED;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    alarm(30);
    if (rank == ranks - 1) {
        sleep(1);
        MPIX_Comm_revoke(comm);
    } else {
        code = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Error_class(code, &error_class);
    }
    is_right = error_class == MPIX_ERR_REVOKED;
    MPI_Allreduce(MPI_IN_PLACE, &is_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) printf(is_right ? "right\n" : "wrong\n");
    MPI_Comm_free(&comm);
    MPI_Finalize();
#endif
    return !is_right;
}
