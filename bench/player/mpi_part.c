/* An MPI's own operations, for the bench; compiled by that MPI's mpicc before a measurement. */
#define _GNU_SOURCE
/* The function that weft/mpi.h calls is the program's, by another name: a library that is preloaded calls its own. */
#define weft_comm_from_oob weft_bench_comm_from_oob
#include "mpi_part.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/mpi.h"

#include "mpi_collectives.h"

static int rank;
static MPI_Comm comm_of_thread = MPI_COMM_NULL;
static MPI_Request requests[pending_max];
static int pending;

static MPI_Request* next_request(void) {
    if (pending == pending_max) stop("too many operations are pending", "");
    requests[pending] = MPI_REQUEST_NULL;
    return &requests[pending++];
}

/* --- The functions that are measured ---------------------------------------------------------------- */

#define FOR_ALL_FUNCTIONS(X)                                                                \
    X(Barrier)                                                                              \
    X(Bcast)                                                                                \
    X(Gather)                                                                               \
    X(Scatter)                                                                              \
    X(Allgather)                                                                            \
    X(Alltoall)                                                                             \
    X(Gatherv)                                                                              \
    X(Scatterv) X(Allgatherv) X(Alltoallv) X(Alltoallw) X(Reduce) X(Allreduce)              \
        X(Reduce_scatter_block) X(Reduce_scatter) X(Scan) X(Exscan) X(Ibarrier) X(Ibcast)   \
            X(Igather) X(Iscatter) X(Iallgather) X(Ialltoall) X(Igatherv) X(Iscatterv)      \
                X(Iallgatherv) X(Ialltoallv) X(Ialltoallw) X(Ireduce) X(Iallreduce)         \
                    X(Ireduce_scatter_block) X(Ireduce_scatter) X(Iscan) X(Iexscan) X(Send) \
                        X(Recv) X(Isend) X(Irecv) X(Test) X(Testall) X(Wait) X(Waitall) X(Waitany)

struct functions {
#define FIELD(name) __typeof__(&MPI_##name) name;
    FOR_ALL_FUNCTIONS(FIELD)
};

/* As the program was linked, and the MPI's own. */
#define LINKED(name) MPI_##name,
static const struct functions linked = {FOR_ALL_FUNCTIONS(LINKED)};
static struct functions own;
static const struct functions* f = &linked;

static void find_own(void) {
    /* A function that no tool replaces: it is in the MPI's library. */
    void* const known = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    void* library;
    Dl_info where;
    if (!known || !dladdr(known, &where)) stop("the MPI's library is not found", "");
    library = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_NOW);
    if (!library) stop(dlerror(), "");
#define FIND(name) \
    if (!(*(void**)& own.name = dlsym(library, "PMPI_" #name))) stop("there is no PMPI_", #name);
    FOR_ALL_FUNCTIONS(FIND)
}

static void use(int whose) {
    if (whose && !own.Wait) find_own();
    f = whose ? &own : &linked;
    if (whose == 2 && comm_of_thread == MPI_COMM_NULL) MPI_Comm_dup(WORLD, &comm_of_thread);
    comm = whose == 2 ? comm_of_thread : WORLD;
}

/* --- Collectives ------------------------------------------------------------------------------------ */

#define DEFINE(name, Start, Call, before, ...)              \
    static void start_##name(const weft_rival_data* data) { \
        before;                                             \
        f->Start(__VA_ARGS__, next_request());              \
    }                                                       \
    static void call_##name(const weft_rival_data* data) {  \
        before;                                             \
        f->Call(__VA_ARGS__);                               \
    }
FOR_ALL_COLLECTIVES(DEFINE)

/* A message from rank 0 to rank 1. */
static void start_send(const weft_rival_data* data) {
    if (rank == 0) f->Isend(RECEIVED, 1, 0, WORLD, next_request());
    if (rank == 1) f->Irecv(RECEIVED, 0, 0, WORLD, next_request());
}
static void call_send(const weft_rival_data* data) {
    if (rank == 0) f->Send(RECEIVED, 1, 0, WORLD);
    if (rank == 1) f->Recv(RECEIVED, 0, 0, WORLD, MPI_STATUS_IGNORE);
}

/* One each way at once. */
static void start_exchange(const weft_rival_data* data) {
    f->Irecv(RECEIVED, 1 - rank, 0, WORLD, next_request());
    f->Isend(SENT, 1 - rank, 0, WORLD, next_request());
}
static void call_exchange(const weft_rival_data* data) {
    MPI_Request both[2];
    f->Irecv(RECEIVED, 1 - rank, 0, WORLD, &both[0]);
    f->Isend(SENT, 1 - rank, 0, WORLD, &both[1]);
    f->Waitall(2, both, MPI_STATUSES_IGNORE);
}

/* A thousand calls that have nothing to do: microseconds of one measurement are nanoseconds of a call. */
#define THOUSAND_CALLS(name, ...)                          \
    static void call_##name(const weft_rival_data* data) { \
        int i, flag;                                       \
        MPI_Request none = MPI_REQUEST_NULL;               \
        NOTHING, (void)flag, (void)none;                   \
        for (i = 0; i < 1000; ++i) __VA_ARGS__;            \
    }
THOUSAND_CALLS(wait, f->Wait(&none, MPI_STATUS_IGNORE))
THOUSAND_CALLS(waitall, f->Waitall(0, NULL, MPI_STATUSES_IGNORE))
THOUSAND_CALLS(test, f->Test(&none, &flag, MPI_STATUS_IGNORE))

static const weft_rival_collective collectives[] = {
#define ENTRY(name, Start, Call, before, ...) {"i" #name, start_##name, call_##name},
    FOR_ALL_COLLECTIVES(ENTRY){"isend", start_send, call_send},
    {"iexchange", start_exchange, call_exchange},
    {"nothing:wait", call_wait, call_wait},
    {"nothing:waitall", call_waitall, call_waitall},
    {"nothing:test", call_test, call_test},
};

static const weft_rival_collective* find(const char* name) {
    size_t i;
    for (i = 0; i < sizeof collectives / sizeof collectives[0]; ++i) {
        if (strcmp(collectives[i].name, name) == 0) return &collectives[i];
    }
    return NULL;
}

/* A single operation is tested and waited for as a program does. */
static int test(void) {
    int has_completed = 1;
    if (pending == 1) f->Test(requests, &has_completed, MPI_STATUS_IGNORE);
    if (pending > 1) f->Testall(pending, requests, &has_completed, MPI_STATUSES_IGNORE);
    if (has_completed) pending = 0;
    return has_completed;
}

static void wait_for_all(void) {
    if (pending == 1) f->Wait(requests, MPI_STATUS_IGNORE);
    if (pending > 1) f->Waitall(pending, requests, MPI_STATUSES_IGNORE);
    pending = 0;
}

static void barrier(void) { f->Barrier(WORLD); }

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
        f->Isend(chain.data + at, length, MPI_BYTE, rank + 1, i, WORLD, &chain.sends[i]);
    else
        f->Irecv(chain.data + at, length, MPI_BYTE, rank - 1, i, WORLD, &chain.recvs[i]);
}

/* As LibNBC's thread: the send of a segment and the receive of the next are a round. */
static void* chain_thread(void* unused) {
    int i, k, index;
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
        for (k = 0; k < 2; ++k) f->Waitany(2, round, &index, MPI_STATUS_IGNORE);
    }
    __atomic_store_n(&chain.has_ended, 1, __ATOMIC_RELEASE);
    return unused;
}

static int query_pipeline(void) {
    int flag = 0;
    if (chain.in_thread) {
        if (!__atomic_load_n(&chain.has_ended, __ATOMIC_ACQUIRE)) return 0;
        pthread_join(chain.thread, NULL);
        return 1;
    }
    for (; chain.received < chain.segments; ++chain.received) {
        if (rank > 0) {
            f->Test(&chain.recvs[chain.received], &flag, MPI_STATUS_IGNORE);
            if (!flag) return 0;
        }
        if (rank + 1 < ranks) chain_message(chain.received, 1);
    }
    if (rank + 1 == ranks) return 1;
    f->Testall(chain.segments, chain.sends, &flag, MPI_STATUSES_IGNORE);
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
        if (!chain.recvs || !chain.sends) stop("no memory", "");
    }
    if (in_thread) {
        MPI_Query_thread(&level);
        if (level != MPI_THREAD_MULTIPLE ||
            pthread_create(&chain.thread, NULL, chain_thread, NULL) != 0)
            stop("no thread may call the MPI", "");
        return;
    }
    for (i = 0; i < chain.segments && rank > 0; ++i) chain_message(i, 0);
    if (rank == 0) query_pipeline();
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double open_mpi(int threads, char* version, size_t length) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int characters = 0, provided = 0;
    double took = now_us();
    MPI_Init_thread(NULL, NULL, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    took = now_us() - took;
    comm = WORLD;
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &ranks);
    MPI_Get_library_version(text, &characters);
    snprintf(version, length, "%s", text);
    return took;
}

static void close_mpi(void) { MPI_Finalize(); }

/* The program that loads this library has Weft, and passes it. */
static weft_rival_from_oob program;

weft_status weft_comm_from_oob(const weft_oob* oob, weft_comm* comm) { return program(oob, comm); }

static weft_status join(weft_rival_from_oob from_oob, weft_comm* comm) {
    program = from_oob;
    return weft_comm_from_mpi(WORLD, comm);
}

const weft_rival_part weft_rival = {open_mpi,       join,           use,     find,
                                    test,           wait_for_all,   barrier, close_mpi,
                                    start_pipeline, query_pipeline, NULL};
