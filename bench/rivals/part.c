/* An MPI's own operations, for the bench; compiled by that MPI's mpicc before a measurement. */
#include "part.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- A chain by hand --------------------------------------------------------------------------- */

static struct {
    char* data;
    size_t bytes, segment;
    int segments, received, room;
    MPI_Request *recvs, *sends;
    int in_thread, has_ended;
    pthread_t thread;
} chain;

static void chain_message(int i, int sends) {
    const size_t at = (size_t)i * chain.segment;
    const size_t left = chain.bytes - at;
    const int length = (int)(left < chain.segment ? left : chain.segment);
    if (sends)
        MPI_Isend(chain.data + at, length, MPI_BYTE, rank + 1, i, WORLD, &chain.sends[i]);
    else
        MPI_Irecv(chain.data + at, length, MPI_BYTE, rank - 1, i, WORLD, &chain.recvs[i]);
}

/* As LibNBC's thread: the send of a segment and the receive of the next are a round. */
static void* chain_thread(void* unused) {
    int i, k, ranks, index;
    MPI_Comm_size(WORLD, &ranks);
    for (i = -1; i < chain.segments; ++i) {
        MPI_Request round[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (i + 1 < chain.segments && rank > 0) {
            chain_message(i + 1, 0);
            round[0] = chain.recvs[i + 1];
        }
        if (i >= 0 && rank + 1 < ranks) {
            chain_message(i, 1);
            round[1] = chain.sends[i];
        }
        for (k = 0; k < 2; ++k) MPI_Waitany(2, round, &index, MPI_STATUS_IGNORE);
    }
    __atomic_store_n(&chain.has_ended, 1, __ATOMIC_RELEASE);
    return unused;
}

static int query_pipeline(void) {
    int ranks, flag = 0;
    if (chain.in_thread) {
        if (!__atomic_load_n(&chain.has_ended, __ATOMIC_ACQUIRE)) return 0;
        pthread_join(chain.thread, NULL);
        return 1;
    }
    MPI_Comm_size(WORLD, &ranks);
    for (; chain.received < chain.segments; ++chain.received) {
        if (rank > 0) {
            MPI_Test(&chain.recvs[chain.received], &flag, MPI_STATUS_IGNORE);
            if (!flag) return 0;
        }
        if (rank + 1 < ranks) chain_message(chain.received, 1);
    }
    if (rank + 1 == ranks) return 1;
    MPI_Testall(chain.segments, chain.sends, &flag, MPI_STATUSES_IGNORE);
    return flag;
}

static void start_pipeline(const weft_rival_data* data, size_t segment, int in_thread) {
    int i, level;
    chain.data = data->recv;
    chain.bytes = data->bytes;
    chain.segment = segment;
    chain.segments = (int)((data->bytes + segment - 1) / segment);
    chain.received = chain.has_ended = 0;
    chain.in_thread = in_thread;
    if (chain.segments > chain.room) {
        chain.room = chain.segments;
        chain.recvs = realloc(chain.recvs, (size_t)chain.room * sizeof *chain.recvs);
        chain.sends = realloc(chain.sends, (size_t)chain.room * sizeof *chain.sends);
        if (!chain.recvs || !chain.sends) MPI_Abort(WORLD, 1);
    }
    if (in_thread) {
        MPI_Query_thread(&level);
        if (level != MPI_THREAD_MULTIPLE ||
            pthread_create(&chain.thread, NULL, chain_thread, NULL) != 0)
            MPI_Abort(WORLD, 1);
        return;
    }
    for (i = 0; i < chain.segments && rank > 0; ++i) chain_message(i, 0);
    if (rank == 0) query_pipeline();
}

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

const weft_rival_part weft_rival = {open_mpi, join,      find,           test,          wait_for_it,
                                    barrier,  close_mpi, start_pipeline, query_pipeline};
