/* An MPI's own operations, for the bench; compiled by that MPI's mpicc before a measurement. */
#include "part.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "weft/mpi.h"

enum { root = 0 };

static MPI_Request request = MPI_REQUEST_NULL;
static int rank;

/* --- Collectives ------------------------------------------------------------------------------ */

#define BYTES (int)data->bytes, MPI_BYTE
#define WORLD MPI_COMM_WORLD

static void start_barrier(const weft_rival_data* data) {
    (void)data;
    MPI_Ibarrier(WORLD, &request);
}
static void call_barrier(const weft_rival_data* data) {
    (void)data;
    MPI_Barrier(WORLD);
}

static void start_bcast(const weft_rival_data* data) {
    MPI_Ibcast(data->recv, BYTES, root, WORLD, &request);
}
static void call_bcast(const weft_rival_data* data) { MPI_Bcast(data->recv, BYTES, root, WORLD); }

static void start_gather(const weft_rival_data* data) {
    MPI_Igather(data->send, BYTES, data->recv, BYTES, root, WORLD, &request);
}
static void call_gather(const weft_rival_data* data) {
    MPI_Gather(data->send, BYTES, data->recv, BYTES, root, WORLD);
}

static void start_scatter(const weft_rival_data* data) {
    MPI_Iscatter(data->send, BYTES, data->recv, BYTES, root, WORLD, &request);
}
static void call_scatter(const weft_rival_data* data) {
    MPI_Scatter(data->send, BYTES, data->recv, BYTES, root, WORLD);
}

static void start_allgather(const weft_rival_data* data) {
    MPI_Iallgather(data->send, BYTES, data->recv, BYTES, WORLD, &request);
}
static void call_allgather(const weft_rival_data* data) {
    MPI_Allgather(data->send, BYTES, data->recv, BYTES, WORLD);
}

static void start_alltoall(const weft_rival_data* data) {
    MPI_Ialltoall(data->send, BYTES, data->recv, BYTES, WORLD, &request);
}
static void call_alltoall(const weft_rival_data* data) {
    MPI_Alltoall(data->send, BYTES, data->recv, BYTES, WORLD);
}

/* The v-forms, with blocks of one size; allgatherv, as in the bench, with the last block first. */
enum { ranks_max = 1024 };
static int counts[ranks_max], places[ranks_max];
static void count(int each, int reversed) {
    int i, ranks;
    MPI_Comm_size(WORLD, &ranks);
    if (ranks > ranks_max) MPI_Abort(WORLD, 1);
    for (i = 0; i < ranks; ++i) {
        counts[i] = each;
        places[i] = (reversed ? ranks - 1 - i : i) * each;
    }
}

static void start_gatherv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Igatherv(data->send, BYTES, data->recv, counts, places, MPI_BYTE, root, WORLD, &request);
}
static void call_gatherv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Gatherv(data->send, BYTES, data->recv, counts, places, MPI_BYTE, root, WORLD);
}

static void start_scatterv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Iscatterv(data->send, counts, places, MPI_BYTE, data->recv, BYTES, root, WORLD, &request);
}
static void call_scatterv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Scatterv(data->send, counts, places, MPI_BYTE, data->recv, BYTES, root, WORLD);
}

static void start_allgatherv(const weft_rival_data* data) {
    count((int)data->bytes, 1);
    MPI_Iallgatherv(data->send, BYTES, data->recv, counts, places, MPI_BYTE, WORLD, &request);
}
static void call_allgatherv(const weft_rival_data* data) {
    count((int)data->bytes, 1);
    MPI_Allgatherv(data->send, BYTES, data->recv, counts, places, MPI_BYTE, WORLD);
}

static void start_alltoallv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Ialltoallv(data->send, counts, places, MPI_BYTE, data->recv, counts, places, MPI_BYTE,
                   WORLD, &request);
}
static void call_alltoallv(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Alltoallv(data->send, counts, places, MPI_BYTE, data->recv, counts, places, MPI_BYTE,
                  WORLD);
}

static MPI_Datatype* bytes_each(void) {
    static MPI_Datatype types[ranks_max];
    static int filled = 0;
    for (; filled < ranks_max; ++filled) types[filled] = MPI_BYTE;
    return types;
}
static void start_alltoallw(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Ialltoallw(data->send, counts, places, bytes_each(), data->recv, counts, places,
                   bytes_each(), WORLD, &request);
}
static void call_alltoallw(const weft_rival_data* data) {
    count((int)data->bytes, 0);
    MPI_Alltoallw(data->send, counts, places, bytes_each(), data->recv, counts, places,
                  bytes_each(), WORLD);
}

#define ELEMENTS (int)data->elements, MPI_DOUBLE, MPI_SUM

static void start_reduce(const weft_rival_data* data) {
    MPI_Ireduce(data->send, data->recv, ELEMENTS, root, WORLD, &request);
}
static void call_reduce(const weft_rival_data* data) {
    MPI_Reduce(data->send, data->recv, ELEMENTS, root, WORLD);
}

static void start_allreduce(const weft_rival_data* data) {
    MPI_Iallreduce(data->send, data->recv, ELEMENTS, WORLD, &request);
}
static void call_allreduce(const weft_rival_data* data) {
    MPI_Allreduce(data->send, data->recv, ELEMENTS, WORLD);
}

static void start_reduce_scatter_block(const weft_rival_data* data) {
    MPI_Ireduce_scatter_block(data->send, data->recv, ELEMENTS, WORLD, &request);
}
static void call_reduce_scatter_block(const weft_rival_data* data) {
    MPI_Reduce_scatter_block(data->send, data->recv, ELEMENTS, WORLD);
}

static void start_reduce_scatter(const weft_rival_data* data) {
    count((int)data->elements, 0);
    MPI_Ireduce_scatter(data->send, data->recv, counts, MPI_DOUBLE, MPI_SUM, WORLD, &request);
}
static void call_reduce_scatter(const weft_rival_data* data) {
    count((int)data->elements, 0);
    MPI_Reduce_scatter(data->send, data->recv, counts, MPI_DOUBLE, MPI_SUM, WORLD);
}

static void start_scan(const weft_rival_data* data) {
    MPI_Iscan(data->send, data->recv, ELEMENTS, WORLD, &request);
}
static void call_scan(const weft_rival_data* data) {
    MPI_Scan(data->send, data->recv, ELEMENTS, WORLD);
}

static void start_exscan(const weft_rival_data* data) {
    MPI_Iexscan(data->send, data->recv, ELEMENTS, WORLD, &request);
}
static void call_exscan(const weft_rival_data* data) {
    MPI_Exscan(data->send, data->recv, ELEMENTS, WORLD);
}

/* A message from rank 0 to rank 1. */
static void start_send(const weft_rival_data* data) {
    if (rank == 0) MPI_Isend(data->recv, BYTES, 1, 0, WORLD, &request);
    if (rank == 1) MPI_Irecv(data->recv, BYTES, 0, 0, WORLD, &request);
}
static void call_send(const weft_rival_data* data) {
    if (rank == 0) MPI_Send(data->recv, BYTES, 1, 0, WORLD);
    if (rank == 1) MPI_Recv(data->recv, BYTES, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

static const weft_rival_collective collectives[] = {
    {"ibarrier", start_barrier, call_barrier},
    {"ibcast", start_bcast, call_bcast},
    {"igather", start_gather, call_gather},
    {"iscatter", start_scatter, call_scatter},
    {"iallgather", start_allgather, call_allgather},
    {"ialltoall", start_alltoall, call_alltoall},
    {"ireduce", start_reduce, call_reduce},
    {"iallreduce", start_allreduce, call_allreduce},
    {"ireduce_scatter_block", start_reduce_scatter_block, call_reduce_scatter_block},
    {"ireduce_scatter", start_reduce_scatter, call_reduce_scatter},
    {"iscan", start_scan, call_scan},
    {"iexscan", start_exscan, call_exscan},
    {"igatherv", start_gatherv, call_gatherv},
    {"iscatterv", start_scatterv, call_scatterv},
    {"iallgatherv", start_allgatherv, call_allgatherv},
    {"ialltoallv", start_alltoallv, call_alltoallv},
    {"ialltoallw", start_alltoallw, call_alltoallw},
    {"isend", start_send, call_send},
};

static const weft_rival_collective* find(const char* name) {
    size_t i;
    for (i = 0; i < sizeof collectives / sizeof collectives[0]; ++i) {
        if (strcmp(collectives[i].name, name) == 0) return &collectives[i];
    }
    return NULL;
}

/* --- The rest --------------------------------------------------------------------------------- */

static int test(void) {
    int has_completed = 0;
    MPI_Test(&request, &has_completed, MPI_STATUS_IGNORE);
    return has_completed;
}

static void wait_for_it(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void barrier(void) { MPI_Barrier(WORLD); }

static void open_mpi(int threads, char* version, size_t length) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int characters = 0, provided = 0;
    MPI_Init_thread(NULL, NULL, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Get_library_version(text, &characters);
    snprintf(version, length, "%s", text);
}

static void close_mpi(void) { MPI_Finalize(); }

/* The function that weft/mpi.h calls. The program that loads this library has Weft and passes it. */
static weft_rival_from_oob program;

weft_status weft_comm_from_oob(const weft_oob* oob, weft_comm* comm) { return program(oob, comm); }

static weft_status join(weft_rival_from_oob from_oob, weft_comm* comm) {
    program = from_oob;
    return weft_comm_from_mpi(WORLD, comm);
}

const weft_rival_part weft_rival = {open_mpi, join, find, test, wait_for_it, barrier, close_mpi};
