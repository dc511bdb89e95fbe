/* A program of MPI alone: 50 times a broadcast of 4 MiB beside a computation. It knows nothing of
 * Weft; README.md runs it without Weft, and with it under `weft preload`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1 << 19, rounds = 50 };
static double data[n];

/* A fixed amount of work that calls nothing: every step needs the result of the one before. */
static double compute(long steps, double x) {
    for (long i = 0; i < steps; ++i) x = x * 0.999999 + 0.000002;
    return x;
}

int main(int argc, char** argv) {
    const long steps = argc > 1 ? atol(argv[1]) : 20000000; /* of each computation */
    int rank = 0, ranks = 0, wrong = 0;
    double x = 1, begin, waited = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int round = 1; round <= rounds; ++round) {
        MPI_Request request;
        double computed;
        if (rank == 0) data[0] = data[n - 1] = round;
        MPI_Ibcast(data, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
        x = compute(steps, x);
        computed = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        waited += MPI_Wtime() - computed;
        if (data[0] != round || data[n - 1] != round) ++wrong;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %.2f s, of which rank 0 spent %.2f s in MPI_Wait (computed %g)\n", ranks,
               MPI_Wtime() - begin, waited, x);
    if (wrong > 0) fprintf(stderr, "rank %d: %d broadcasts were wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong > 0;
}
