/* What the collectives of the bench are called with, for functions of MPI's form: the includer defines `ranks` and stop(). */
#ifndef WEFT_BENCH_PLAYER_MPI_COLLECTIVES_H
#define WEFT_BENCH_PLAYER_MPI_COLLECTIVES_H

#include <mpi.h>

#include "mpi_part.h"

enum { root = 0, ranks_max = 1024, pending_max = 1024 };

#define WORLD MPI_COMM_WORLD

static int ranks;
static MPI_Comm comm; /* whose collectives they are */
static void stop(const char* why, const char* what) {
    fprintf(stderr, "weft bench: the part for an MPI: %s%s\n", why, what);
    MPI_Abort(WORLD, 1);
}

/* The v-forms have blocks of one size; allgatherv, as in the bench, has the last block first. */
static int counts[ranks_max], places[ranks_max];
static MPI_Datatype types[ranks_max];
static void lay_out(size_t each, int reversed) {
    int i;
    if (ranks > ranks_max) stop("too many ranks", "");
    for (i = 0; i < ranks; ++i) {
        counts[i] = (int)each;
        places[i] = (reversed ? ranks - 1 - i : i) * (int)each;
        types[i] = MPI_BYTE;
    }
}

#define NOTHING (void)data
#define BLOCKS lay_out(data->bytes, 0)
#define REVERSED lay_out(data->bytes, 1)
#define SUMS lay_out(data->elements, 0)
#define SENT (void*)data->send, (int)data->bytes, MPI_BYTE
#define RECEIVED data->recv, (int)data->bytes, MPI_BYTE
#define SENT_BLOCKS (void*)data->send, counts, places, MPI_BYTE
#define RECEIVED_BLOCKS data->recv, counts, places, MPI_BYTE
#define REDUCED (void*)data->send, data->recv, (int)data->elements, MPI_DOUBLE, MPI_SUM

/* Name, the two functions, what comes first, arguments; first those that LibNBC has. */
#define FOR_COLLECTIVES_OF_LIBNBC(X)                                                        \
    X(barrier, Ibarrier, Barrier, NOTHING, comm)                                            \
    X(bcast, Ibcast, Bcast, NOTHING, RECEIVED, root, comm)                                  \
    X(gather, Igather, Gather, NOTHING, SENT, RECEIVED, root, comm)                         \
    X(scatter, Iscatter, Scatter, NOTHING, SENT, RECEIVED, root, comm)                      \
    X(allgather, Iallgather, Allgather, NOTHING, SENT, RECEIVED, comm)                      \
    X(alltoall, Ialltoall, Alltoall, NOTHING, SENT, RECEIVED, comm)                         \
    X(gatherv, Igatherv, Gatherv, BLOCKS, SENT, RECEIVED_BLOCKS, root, comm)                \
    X(scatterv, Iscatterv, Scatterv, BLOCKS, SENT_BLOCKS, RECEIVED, root, comm)             \
    X(allgatherv, Iallgatherv, Allgatherv, REVERSED, SENT, RECEIVED_BLOCKS, comm)           \
    X(alltoallv, Ialltoallv, Alltoallv, BLOCKS, SENT_BLOCKS, RECEIVED_BLOCKS, comm)         \
    X(reduce, Ireduce, Reduce, NOTHING, REDUCED, root, comm)                                \
    X(allreduce, Iallreduce, Allreduce, NOTHING, REDUCED, comm)                             \
    X(reduce_scatter, Ireduce_scatter, Reduce_scatter, SUMS, (void*)data->send, data->recv, \
      counts, MPI_DOUBLE, MPI_SUM, comm)                                                    \
    X(scan, Iscan, Scan, NOTHING, REDUCED, comm)

#define ALLTOALLW(X)                                                                      \
    X(alltoallw, Ialltoallw, Alltoallw, BLOCKS, (void*)data->send, counts, places, types, \
      data->recv, counts, places, types, comm)

#define FOR_ALL_COLLECTIVES(X)                                                                   \
    FOR_COLLECTIVES_OF_LIBNBC(X)                                                                 \
    ALLTOALLW(X)                                                                                 \
    X(reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block, NOTHING, REDUCED, comm) \
    X(exscan, Iexscan, Exscan, NOTHING, REDUCED, comm)

#endif
