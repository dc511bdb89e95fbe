/* An MPI as the back end of an application: a library that the application loads at run time, compiled by that MPI's mpicc:
     mpicc -O2 -shared -fPIC -Iinclude apps/common/mpi_part.c -o build/dev/apps/mpi-NAME.so
   An MPI that fails aborts the job itself. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend.h"

static MPI_Comm groups[apps_groups_max];
static int made; /* groups */

/* A request, with the arrays that MPI reads until the call is complete. */
typedef struct request {
    MPI_Request mpi;
    int* arrays;
    struct request* next; /* while it is not in use */
} request;
static request* unused;

static void stop(const char* why) {
    fprintf(stderr, "apps: the MPI's part: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static request* take(void) {
    request* r = unused;
    if (r) {
        unused = r->next;
    } else if (!(r = malloc(sizeof *r))) {
        stop("no memory");
    }
    r->mpi = MPI_REQUEST_NULL;
    r->arrays = NULL;
    return r;
}

static void give_back(request* r) {
    free(r->arrays);
    r->next = unused;
    unused = r;
}

static int count_of(size_t count) {
    if (count > INT_MAX) stop("more elements than an int can count");
    return (int)count;
}

static MPI_Datatype type_of(weft_type type) {
    switch (type) {
        case WEFT_INT32: return MPI_INT32_T;
        case WEFT_INT64: return MPI_INT64_T;
        case WEFT_UINT32: return MPI_UINT32_T;
        case WEFT_UINT64: return MPI_UINT64_T;
        case WEFT_FLOAT32: return MPI_FLOAT;
        case WEFT_FLOAT64: return MPI_DOUBLE;
        case WEFT_UINT8:
        case WEFT_BYTE: return MPI_BYTE;
        default: stop("no such element type"); return MPI_BYTE;
    }
}

static MPI_Op op_of(weft_op op) {
    if (op == WEFT_MAX) return MPI_MAX;
    if (op == WEFT_MIN) return MPI_MIN;
    if (op != WEFT_SUM) stop("no such reduction");
    return MPI_SUM;
}

/* Counts and displacements of `blocks` blocks as MPI has them; stored one after the other at `to`. */
static void to_ints(const weft_side* side, int blocks, int* to) {
    int i;
    size_t at = 0;
    if (!side->counts) return; /* not this rank's part of the call */
    for (i = 0; i < blocks; ++i) {
        to[i] = count_of(side->counts[i]);
        to[blocks + i] =
            side->displacements ? count_of((size_t)side->displacements[i]) : count_of(at);
        at += side->counts[i];
    }
}

/* One name of a function is the nonblocking one's, the other the blocking one's. */
#define EITHER(Start, Call, ...)               \
    do {                                       \
        if (nonblocking)                       \
            MPI_##Start(__VA_ARGS__, &r->mpi); \
        else                                   \
            MPI_##Call(__VA_ARGS__);           \
    } while (0)

static request* make(const weft_call* c, int group, int nonblocking) {
    const MPI_Comm comm = groups[group];
    const void* send = c->send.data == WEFT_IN_PLACE ? MPI_IN_PLACE : c->send.data;
    void* recv = c->recv.data;
    const int send_count = count_of(c->send.count), recv_count = count_of(c->recv.count);
    const MPI_Datatype send_type = type_of(c->send.type), recv_type = type_of(c->recv.type);
    request* const r = take();
    int blocks, *s, *t;
    if (c->collective == WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV) {
        MPI_Cartdim_get(comm, &blocks);
        blocks *= 2;
    } else {
        MPI_Comm_size(comm, &blocks);
    }
    if (c->send.counts || c->recv.counts) {
        r->arrays = calloc(4 * (size_t)blocks, sizeof *r->arrays);
        if (!r->arrays) stop("no memory");
    }
    s = r->arrays;
    t = s ? s + 2 * blocks : NULL;
    to_ints(&c->send, blocks, s);
    to_ints(&c->recv, blocks, t);
    switch (c->collective) {
        case WEFT_COLLECTIVE_BARRIER:
            if (nonblocking)
                MPI_Ibarrier(comm, &r->mpi);
            else
                MPI_Barrier(comm);
            break;
        case WEFT_COLLECTIVE_BCAST:
            EITHER(Ibcast, Bcast, recv, recv_count, recv_type, c->root, comm);
            break;
        case WEFT_COLLECTIVE_ALLREDUCE:
            EITHER(Iallreduce, Allreduce, send, recv, recv_count, recv_type, op_of(c->op), comm);
            break;
        case WEFT_COLLECTIVE_ALLGATHER:
            EITHER(Iallgather, Allgather, send, send_count, send_type, recv, recv_count, recv_type,
                   comm);
            break;
        case WEFT_COLLECTIVE_GATHER:
            EITHER(Igather, Gather, send, send_count, send_type, recv, recv_count, recv_type,
                   c->root, comm);
            break;
        case WEFT_COLLECTIVE_GATHERV:
            EITHER(Igatherv, Gatherv, send, send_count, send_type, recv, t, t ? t + blocks : t,
                   recv_type, c->root, comm);
            break;
        case WEFT_COLLECTIVE_ALLTOALL:
            EITHER(Ialltoall, Alltoall, send, send_count, send_type, recv, recv_count, recv_type,
                   comm);
            break;
        case WEFT_COLLECTIVE_ALLTOALLV:
            EITHER(Ialltoallv, Alltoallv, send, s, s + blocks, send_type, recv, t, t + blocks,
                   recv_type, comm);
            break;
        case WEFT_COLLECTIVE_NEIGHBOR_ALLTOALLV:
            EITHER(Ineighbor_alltoallv, Neighbor_alltoallv, send, s, s + blocks, send_type, recv, t,
                   t + blocks, recv_type, comm);
            break;
        default: stop("no such collective");
    }
    return r;
}

static void* start(const weft_call* c, int group) { return make(c, group, 1); }
static void call(const weft_call* c, int group) { give_back(make(c, group, 0)); }

static int test(void* one) {
    request* const r = one;
    int is_complete = 0;
    MPI_Test(&r->mpi, &is_complete, MPI_STATUS_IGNORE);
    if (is_complete) give_back(r);
    return is_complete;
}

static void wait_for(void* one) {
    request* const r = one;
    MPI_Wait(&r->mpi, MPI_STATUS_IGNORE);
    give_back(r);
}

static MPI_Comm* next_group(void) {
    if (made == apps_groups_max) stop("too many groups");
    return &groups[made++];
}

static void open_mpi(int* rank, int* ranks) {
    MPI_Init(NULL, NULL);
    *next_group() = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
}

static int split(int group, int color, int* rank, int* ranks) {
    MPI_Comm* const comm = next_group();
    MPI_Comm_split(groups[group], color, 0, comm);
    MPI_Comm_rank(*comm, rank);
    MPI_Comm_size(*comm, ranks);
    return made - 1;
}

static int cart(int group, int ndims, const int* dims, const int* periods) {
    MPI_Cart_create(groups[group], ndims, dims, periods, 0, next_group());
    return made - 1;
}

static void close_mpi(void) {
    while (made > 1) MPI_Comm_free(&groups[--made]);
    MPI_Finalize();
}

const apps_backend apps_mpi = {open_mpi, split, cart, start, call, test, wait_for, close_mpi};
