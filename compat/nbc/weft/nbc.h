/* The interface of LibNBC (T. Hoefler, A. Lumsdaine and W. Rehm, 2007: Implementation and Performance Analysis of
   Non-Blocking Collective Operations for MPI, doi 10.1145/1362622.1362692) for programs that use an MPI: its
   collectives, handles and schedules, run by Weft. Like weft/mpi.h it is compiled into the program, against its
   MPI; link with -lweft. docs/nbc.md says what is the same as in LibNBC, and what differs.

   One thread at a time. As in LibNBC, a communicator's first call is collective; all ranks call its operations
   in the same order; the arguments and MPI_IN_PLACE are MPI's. weft_last_detail() explains failures of Weft. */
#ifndef WEFT_NBC_H
#define WEFT_NBC_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/mpi.h"
#include "weft/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What programs use ----------------------------------------------------------------------- */

#define NBC_OK 0        /* done, or started */
#define NBC_SUCCESS 0   /* the same */
#define NBC_OOR 1       /* out of memory or descriptors */
#define NBC_BAD_SCHED 2 /* a schedule is not committed, or was before; or see NBC_Start */
#define NBC_CONTINUE 3  /* not done yet */
/* A reduction of a type that Weft does not have; in schedules, a type that is not contiguous. */
#define NBC_DATATYPE_NOT_SUPPORTED 4
#define NBC_OP_NOT_SUPPORTED 5 /* user-defined, or not for this type */
#define NBC_NOT_IMPLEMENTED 6  /* intercommunicators; NBC_Sched_unpack */
#define NBC_INVALID_PARAM 7
#define NBC_INVALID_TOPOLOGY_COMM 8 /* the communicator has no topology */
/* Not in LibNBC: Weft refused or failed, a lost rank for example. weft_last_detail() says why. */
#define NBC_WEFT_FAILED 100

/* A schedule in the making, or committed. It belongs to the program: NBC_Start takes it any number of times. */
typedef void* NBC_Schedule;

/* An operation. The program gives it the memory, which must stay where it is until the operation is done. */
typedef struct {
    MPI_Comm comm;
    void* tmpbuf;               /* for NBC_Start, which see */
    struct weft_nbc_call* call; /* Weft's. Null: not under way */
} NBC_Handle;
typedef NBC_Handle NBC_Request;

/* --- Inside: the process and its communicators ----------------------------------------------- */

/* One for all units and libraries of the program. */
#define WEFT_NBC_SHARED __attribute__((weak, visibility("default")))
WEFT_NBC_SHARED int weft_nbc_is_ready;
WEFT_NBC_SHARED int weft_nbc_comm_key;
WEFT_NBC_SHARED int weft_nbc_end_key;
WEFT_NBC_SHARED int weft_nbc_ends_weft;
WEFT_NBC_SHARED MPI_Comm weft_nbc_self;
WEFT_NBC_SHARED MPI_Request weft_nbc_never; /* a receive that nobody sends to */

/* An attribute of an MPI communicator. */
typedef struct weft_nbc_comm {
    weft_comm comm;
    weft_comm neighbors; /* with the topology; WEFT_COMM_NULL until its first use */
    int rank;
    int ranks;
} weft_nbc_comm;

static WEFT_INLINE int weft_nbc_code(weft_status status) {
    if (status == WEFT_OK) return NBC_OK;
    if (status > 0) return NBC_CONTINUE;
    if (status == WEFT_REFUSED_ARGUMENT) return NBC_INVALID_PARAM;
    return status == WEFT_REFUSED_MEMORY ? NBC_OOR : NBC_WEFT_FAILED;
}

static WEFT_INLINE int weft_nbc_forget_comm(MPI_Comm comm, int key, void* kept, void* extra) {
    weft_nbc_comm* found = (weft_nbc_comm*)kept;
    (void)comm, (void)key, (void)extra;
    if (weft_is_initialized()) { /* MPI_Finalize may come here after weft_nbc_end */
        if (found->neighbors) weft_comm_free(&found->neighbors);
        weft_comm_free(&found->comm);
    }
    free(found);
    return MPI_SUCCESS;
}

/* MPI_Finalize calls this first, while the MPI still works. */
static WEFT_INLINE int weft_nbc_end(MPI_Comm comm, int key, void* kept, void* extra) {
    weft_status status = WEFT_OK;
    (void)comm, (void)key, (void)kept, (void)extra;
    if (weft_nbc_ends_weft && weft_is_initialized()) status = weft_finalize();
    if (status != WEFT_OK) fprintf(stderr, "weft: MPI_Finalize: %s\n", weft_last_detail());
    MPI_Cancel(&weft_nbc_never);
    MPI_Wait(&weft_nbc_never, MPI_STATUS_IGNORE);
    MPI_Comm_free(&weft_nbc_self);
    return MPI_SUCCESS;
}

/* Once per process. */
static WEFT_INLINE int weft_nbc_get_ready(void) {
    if (weft_nbc_is_ready) return MPI_SUCCESS;
    weft_nbc_is_ready = 1;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, weft_nbc_forget_comm, &weft_nbc_comm_key,
                                  NULL) ||
           MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, weft_nbc_end, &weft_nbc_end_key, NULL) ||
           MPI_Comm_dup(MPI_COMM_SELF, &weft_nbc_self) ||
           MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, weft_nbc_self, &weft_nbc_never) ||
           MPI_Comm_set_attr(MPI_COMM_SELF, weft_nbc_end_key, NULL);
}

/* The Weft communicator of an MPI communicator. */
static WEFT_INLINE int weft_nbc_comm_of(MPI_Comm comm, weft_nbc_comm** found) {
    int is_there = 0, is_inter = 0, is_first;
    void* kept = NULL;
    weft_status status;
    if (comm == MPI_COMM_NULL) return NBC_INVALID_PARAM;
    if (weft_nbc_get_ready() != MPI_SUCCESS) return NBC_OOR;
    MPI_Comm_get_attr(comm, weft_nbc_comm_key, &kept, &is_there);
    if (is_there) {
        *found = (weft_nbc_comm*)kept;
        return NBC_OK;
    }
    MPI_Comm_test_inter(comm, &is_inter);
    if (is_inter) return NBC_NOT_IMPLEMENTED;
    *found = (weft_nbc_comm*)calloc(1, sizeof **found);
    if (!*found) return NBC_OOR;
    is_first = !weft_is_initialized(); /* otherwise the program ends what it has begun */
    status = weft_comm_from_mpi(comm, &(*found)->comm);
    if (status != WEFT_OK) {
        free(*found);
        return weft_nbc_code(status);
    }
    if (is_first) weft_nbc_ends_weft = 1;
    MPI_Comm_rank(comm, &(*found)->rank);
    MPI_Comm_size(comm, &(*found)->ranks);
    MPI_Comm_set_attr(comm, weft_nbc_comm_key, *found);
    return NBC_OK;
}

/* --- Inside: datatypes ----------------------------------------------------------------------- */

/* Whether elements lie in memory as MPI_Pack would write them: predefined types without gaps, and what
   MPI_Type_contiguous and MPI_Type_dup make of them. */
static WEFT_INLINE int weft_nbc_is_plain(MPI_Datatype type) {
    int integers, addresses, types, combiner, inner, size, number, is_plain;
    MPI_Aint low, extent, address;
    MPI_Datatype old;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) {
        MPI_Type_size(type, &size);
        MPI_Type_get_extent(type, &low, &extent);
        return types == 0 && low == 0 && size == extent;
    }
    MPI_Type_get_contents(type, integers, addresses, types, &number, &address, &old);
    is_plain = weft_nbc_is_plain(old);
    MPI_Type_get_envelope(old, &integers, &addresses, &types, &inner);
    if (types > 0) MPI_Type_free(&old); /* predefined ones are made of no others */
    return is_plain;
}

/* One side of a call, as the program gave it: contiguous blocks of `count` elements, or, if is_v, blocks of `counts`
   elements at `displs`; if `types` is given, of these types, at `displs` or `at` in bytes. */
typedef struct weft_nbc_side {
    char* buf;
    int is_v;
    int count;
    const int* counts;
    const int* displs;
    MPI_Datatype type;
    const MPI_Datatype* types;
    const MPI_Aint* at;
    int blocks;

    /* For Weft: bytes from `data` on. */
    char* data;
    size_t bytes;       /* of a block, if they are equal */
    size_t* sizes;      /* otherwise, of each */
    ptrdiff_t* offsets; /* and where it begins */

    size_t size; /* of an element */
    ptrdiff_t extent;
    int is_packed; /* `data` is not the program's */
} weft_nbc_side;

/* The state of a call until it is done. */
struct weft_nbc_call {
    weft_request request;
    int is_schedule;       /* the request is persistent: freed when done */
    weft_nbc_side unpacks; /* if it has blocks: what arrives packed */
    MPI_Datatype* types;   /* owned, for its blocks, if each has its own */
    int owned;
    void* own[10];
};

static WEFT_INLINE void* weft_nbc_own(struct weft_nbc_call* call, size_t bytes) {
    return call->own[call->owned++] = malloc(bytes ? bytes : 1);
}

static WEFT_INLINE weft_nbc_side weft_nbc_blocks(const void* buf, int count, MPI_Datatype type,
                                                 int blocks) {
    weft_nbc_side side;
    memset(&side, 0, sizeof side);
    side.buf = (char*)(uintptr_t)buf;
    side.count = count;
    side.type = type;
    side.blocks = blocks;
    return side;
}

static WEFT_INLINE weft_nbc_side weft_nbc_blocks_v(const void* buf, const int* counts,
                                                   const int* displs, MPI_Datatype type,
                                                   int blocks) {
    weft_nbc_side side = weft_nbc_blocks(buf, 0, type, blocks);
    side.is_v = 1;
    side.counts = counts;
    side.displs = displs;
    return side;
}

/* `displs` or `at` is null. */
static WEFT_INLINE weft_nbc_side weft_nbc_blocks_w(const void* buf, const int* counts,
                                                   const int* displs, const MPI_Aint* at,
                                                   const MPI_Datatype* types, int blocks) {
    weft_nbc_side side = weft_nbc_blocks_v(buf, counts, displs, MPI_DATATYPE_NULL, blocks);
    side.at = at;
    side.types = types;
    return side;
}

/* Where the block begins in the program's memory. */
static WEFT_INLINE char* weft_nbc_place(const weft_nbc_side* side, int block) {
    ptrdiff_t at;
    if (side->types)
        return side->buf + (side->at ? (ptrdiff_t)side->at[block] : (ptrdiff_t)side->displs[block]);
    at = side->is_v ? side->displs[block] : (ptrdiff_t)block * side->count;
    return side->buf + at * side->extent;
}

static WEFT_INLINE int weft_nbc_count(const weft_nbc_side* side, int block) {
    return side->is_v ? side->counts[block] : side->count;
}

/* Packs a block, or unpacks it. The MPIs that Weft meets pack elements without anything between them; the position
   reveals one that does not. */
static WEFT_INLINE int weft_nbc_convert(weft_nbc_side* side, int block, int is_in) {
    const int count = weft_nbc_count(side, block);
    const size_t bytes = side->is_v ? side->sizes[block] : (size_t)count * side->size;
    const MPI_Datatype type = side->types ? side->types[block] : side->type;
    char* place = weft_nbc_place(side, block);
    char* packed =
        side->data + (side->is_v ? (size_t)side->offsets[block] : (size_t)block * side->bytes);
    int at = 0, error;
    if (bytes == 0) return NBC_OK;
    error = is_in ? MPI_Pack(place, count, type, packed, (int)bytes, &at, MPI_COMM_SELF)
                  : MPI_Unpack(packed, (int)bytes, &at, place, count, type, MPI_COMM_SELF);
    return error == MPI_SUCCESS && (size_t)at == bytes ? NBC_OK : NBC_DATATYPE_NOT_SUPPORTED;
}

/* Memory for the size and the place of each block. */
static WEFT_INLINE int weft_nbc_own_sizes(struct weft_nbc_call* call, weft_nbc_side* side) {
    side->sizes = (size_t*)weft_nbc_own(call, (size_t)side->blocks * sizeof *side->sizes);
    side->offsets = (ptrdiff_t*)weft_nbc_own(call, (size_t)side->blocks * sizeof *side->offsets);
    return side->sizes && side->offsets ? NBC_OK : NBC_OOR;
}

/* weft_nbc_lay_out for blocks of several types. If any type has gaps, all blocks are packed. */
static WEFT_INLINE int weft_nbc_lay_out_types(struct weft_nbc_call* call, weft_nbc_side* side) {
    int size, block;
    size_t all = 0;
    if (!side->counts || (!side->displs && !side->at))
        return side->blocks ? NBC_INVALID_PARAM : NBC_OK;
    if (weft_nbc_own_sizes(call, side) != NBC_OK) return NBC_OOR;
    for (block = 0; block < side->blocks; ++block) {
        side->sizes[block] = 0;
        if (side->counts[block] < 0) return NBC_INVALID_PARAM;
        if (side->counts[block] == 0) continue; /* needs no type */
        if (side->types[block] == MPI_DATATYPE_NULL ||
            MPI_Type_size(side->types[block], &size) != MPI_SUCCESS)
            return NBC_INVALID_PARAM;
        side->sizes[block] = (size_t)side->counts[block] * (size_t)size;
        if (!weft_nbc_is_plain(side->types[block])) side->is_packed = 1;
    }
    side->data = side->buf;
    for (block = 0; block < side->blocks; ++block) {
        if (side->is_packed && side->sizes[block] > INT32_MAX) return NBC_DATATYPE_NOT_SUPPORTED;
        /* (MPI_BOTTOM is no address.) */
        if (!side->data && side->sizes[block] > 0) side->data = weft_nbc_place(side, block);
        side->offsets[block] =
            side->is_packed ? (ptrdiff_t)all : weft_nbc_place(side, block) - side->data;
        all += side->sizes[block];
    }
    if (side->is_packed) side->data = (char*)weft_nbc_own(call, all);
    return side->data || !side->is_packed ? NBC_OK : NBC_OOR;
}

/* Fills in what is for Weft. Types with gaps get extra memory to pack into or unpack from. */
static WEFT_INLINE int weft_nbc_lay_out(struct weft_nbc_call* call, weft_nbc_side* side) {
    int size = 0, block;
    size_t all = 0;
    MPI_Aint low = 0, extent = 0;
    if (side->types) return weft_nbc_lay_out_types(call, side);
    if (side->type == MPI_DATATYPE_NULL) return NBC_INVALID_PARAM;
    if (MPI_Type_size(side->type, &size) != MPI_SUCCESS) return NBC_INVALID_PARAM;
    MPI_Type_get_extent(side->type, &low, &extent);
    side->size = (size_t)size;
    side->extent = (ptrdiff_t)extent;
    side->is_packed = !weft_nbc_is_plain(side->type);
    side->bytes = (size_t)side->count * side->size;
    if (side->is_v) {
        if (!side->counts || !side->displs) return side->blocks ? NBC_INVALID_PARAM : NBC_OK;
        if (weft_nbc_own_sizes(call, side) != NBC_OK) return NBC_OOR;
    }
    for (block = 0; block < side->blocks; ++block) {
        const int count = weft_nbc_count(side, block);
        const size_t bytes = (size_t)count * side->size;
        if (count < 0) return NBC_INVALID_PARAM;
        if (side->is_packed && bytes > INT32_MAX) return NBC_DATATYPE_NOT_SUPPORTED;
        if (side->is_v) {
            side->sizes[block] = bytes;
            side->offsets[block] =
                side->is_packed ? (ptrdiff_t)all : weft_nbc_place(side, block) - side->buf;
        }
        all += bytes;
    }
    side->data = side->is_packed ? (char*)weft_nbc_own(call, all) : side->buf;
    return side->data || !side->is_packed ? NBC_OK : NBC_OOR;
}

/* Lays out what is sent, and packs it if need be. */
static WEFT_INLINE int weft_nbc_lay_out_send(struct weft_nbc_call* call, weft_nbc_side* side) {
    int block, code = weft_nbc_lay_out(call, side);
    for (block = 0; block < side->blocks && side->is_packed && code == NBC_OK; ++block)
        code = weft_nbc_convert(side, block, 1);
    return code;
}

/* Notes the places and the types of blocks of several types. */
static WEFT_INLINE int weft_nbc_keep_types(struct weft_nbc_call* call, weft_nbc_side* unpacks) {
    const size_t blocks = (size_t)unpacks->blocks;
    const MPI_Datatype* given = unpacks->types;
    MPI_Aint* at = (MPI_Aint*)weft_nbc_own(call, blocks * sizeof *at);
    MPI_Datatype* types = (MPI_Datatype*)weft_nbc_own(call, blocks * sizeof *types);
    int block;
    if (!at || !types) return NBC_OOR;
    for (block = 0; block < unpacks->blocks; ++block) {
        at[block] = unpacks->at ? unpacks->at[block] : unpacks->displs[block];
        types[block] = MPI_DATATYPE_NULL;
    }
    unpacks->at = at;
    unpacks->types = call->types = types;
    for (block = 0; block < unpacks->blocks; ++block) {
        if (unpacks->counts[block] > 0 && MPI_Type_dup(given[block], &types[block]) != MPI_SUCCESS)
            return NBC_OOR;
    }
    return NBC_OK;
}

/* Lays out what is received, and notes what must be unpacked: programs may free type and arrays after the start. In
   place, blocks [first, last) are already there. */
static WEFT_INLINE int weft_nbc_lay_out_recv(struct weft_nbc_call* call, weft_nbc_side* side,
                                             int first, int last) {
    int block, code = weft_nbc_lay_out(call, side);
    const size_t bytes = (size_t)side->blocks * sizeof(int);
    int *counts, *displs;
    if (code != NBC_OK || !side->is_packed) return code;
    for (block = first; block < last && code == NBC_OK; ++block)
        code = weft_nbc_convert(side, block, 1);
    if (code != NBC_OK) return code;
    call->unpacks = *side;
    call->unpacks.type = MPI_DATATYPE_NULL;
    if (side->is_v && side->counts) {
        if (!(counts = (int*)weft_nbc_own(call, bytes))) return NBC_OOR;
        memcpy(counts, side->counts, bytes);
        call->unpacks.counts = counts;
    }
    if (side->types) return weft_nbc_keep_types(call, &call->unpacks);
    if (side->is_v && side->displs) {
        if (!(displs = (int*)weft_nbc_own(call, bytes))) return NBC_OOR;
        memcpy(displs, side->displs, bytes);
        call->unpacks.displs = displs;
    }
    return MPI_Type_dup(side->type, &call->unpacks.type) == MPI_SUCCESS ? NBC_OK : NBC_OOR;
}

/* --- Handles --------------------------------------------------------------------------------- */

/* Frees what a call holds. */
static WEFT_INLINE void weft_nbc_drop(struct weft_nbc_call* call) {
    int i;
    if (call->unpacks.type != MPI_DATATYPE_NULL) MPI_Type_free(&call->unpacks.type);
    for (i = 0; call->types && i < call->unpacks.blocks; ++i)
        if (call->types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&call->types[i]);
    if (call->is_schedule && call->request) weft_request_free(&call->request);
    for (i = 0; i < call->owned; ++i) free(call->own[i]);
    free(call);
}

static WEFT_INLINE struct weft_nbc_call* weft_nbc_new_call(void) {
    struct weft_nbc_call* call = (struct weft_nbc_call*)calloc(1, sizeof *call);
    if (call) call->unpacks.type = MPI_DATATYPE_NULL;
    return call;
}

/* The call was started, unless `code` says otherwise. */
static WEFT_INLINE int weft_nbc_begun(NBC_Handle* handle, struct weft_nbc_call* call, int code) {
    if (code == NBC_OK) {
        handle->call = call;
    } else if (call) {
        weft_nbc_drop(call);
    }
    return code;
}

/* A test or wait of the call had this result. */
static WEFT_INLINE int weft_nbc_ended(NBC_Handle* handle, weft_status status) {
    weft_nbc_side* unpacks = &handle->call->unpacks;
    int block, code = weft_nbc_code(status);
    if (code == NBC_CONTINUE) return code;
    for (block = 0; block < unpacks->blocks && code == NBC_OK; ++block)
        code = weft_nbc_convert(unpacks, block, 0);
    weft_nbc_drop(handle->call);
    free(handle->tmpbuf);
    handle->call = NULL;
    handle->tmpbuf = NULL;
    return code;
}

/* A rank may wait for other messages of the program before it comes to the collective. (Not MPI_Iprobe:
   MPICH 5.0.2 moves nothing then, if the communicator is MPI_COMM_SELF.) */
static WEFT_INLINE void weft_nbc_let_mpi_work(void) {
    int is_done;
    MPI_Test(&weft_nbc_never, &is_done, MPI_STATUS_IGNORE);
}

/* Prepares a handle for NBC_Start. */
static WEFT_INLINE int NBC_Init_handle(NBC_Handle* handle, MPI_Comm comm) {
    weft_nbc_comm* found;
    if (!handle) return NBC_INVALID_PARAM;
    handle->comm = comm;
    handle->tmpbuf = NULL;
    handle->call = NULL;
    return weft_nbc_comm_of(comm, &found);
}

/* Has the operation ended? NBC_OK: yes. NBC_CONTINUE: no. Otherwise it has failed. */
static WEFT_INLINE int NBC_Testold(NBC_Handle* handle) {
    int code;
    if (!handle->call) return NBC_OK;
    code = weft_nbc_ended(handle, weft_test(&handle->call->request));
    if (code == NBC_CONTINUE) weft_nbc_let_mpi_work();
    return code;
}

static WEFT_INLINE int NBC_Progress(NBC_Handle* handle) { return NBC_Testold(handle); }

/* The same with a flag: 1 if it has ended. `status` is not touched. */
static WEFT_INLINE int NBC_Test(NBC_Handle* handle, int* flag, MPI_Status* status) {
    const int code = NBC_Testold(handle);
    (void)status;
    *flag = code != NBC_CONTINUE;
    return code == NBC_CONTINUE ? NBC_OK : code;
}

#ifndef CLOCK_MONOTONIC /* strict C declares neither this nor struct timespec */
extern int clock_gettime(int, void*);
#endif

static WEFT_INLINE int64_t weft_nbc_now_ns(void) {
#ifdef CLOCK_MONOTONIC
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
#else
    struct {
        time_t tv_sec;
        long tv_nsec;
    } now;
    clock_gettime(1, &now);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns when the operation has ended; NBC_CONTINUE only after weft_interrupt. `status` is not touched. */
static WEFT_INLINE int NBC_Wait(NBC_Handle* handle, MPI_Status* status) {
    int64_t slice_ns = 50000;
    weft_status outcome;
    (void)status;
    if (!handle->call) return NBC_OK;
    for (;;) {
        outcome = weft_wait_until(&handle->call->request, weft_nbc_now_ns() + slice_ns);
        if (outcome != WEFT_TIMED_OUT) return weft_nbc_ended(handle, outcome);
        weft_nbc_let_mpi_work();
        if (slice_ns < 1000000) slice_ns *= 2;
    }
}

/* The paper's forms: NBC_Wait(handle), and NBC_Test(handle), which is NBC_Testold. */
static WEFT_INLINE int weft_nbc_wait(NBC_Handle* handle) {
    return NBC_Wait(handle, MPI_STATUS_IGNORE);
}
#if defined(__cplusplus) || !defined(__STRICT_ANSI__) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define WEFT_NBC_SEVENTH(a, b, c, d, e, f, g, ...) g
#define NBC_Wait(...) \
    WEFT_NBC_SEVENTH(__VA_ARGS__, 0, 0, 0, 0, NBC_Wait, weft_nbc_wait, 0)(__VA_ARGS__)
#define NBC_Test(...) \
    WEFT_NBC_SEVENTH(__VA_ARGS__, 0, 0, 0, NBC_Test, 0, NBC_Testold, 0)(__VA_ARGS__)
#endif

/* --- Collectives ----------------------------------------------------------------------------- */

enum {
    WEFT_NBC_BCAST,
    WEFT_NBC_GATHER,
    WEFT_NBC_SCATTER,
    WEFT_NBC_ALLGATHER,
    WEFT_NBC_ALLTOALL,
    WEFT_NBC_NEIGHBOR_ALLGATHER,
    WEFT_NBC_NEIGHBOR_ALLTOALL
};

/* Starts it in Weft, all in bytes. */
static WEFT_INLINE weft_status weft_nbc_start_move(int kind, const weft_nbc_side* send,
                                                   const weft_nbc_side* recv, int is_v,
                                                   int is_in_place, int root, weft_comm comm,
                                                   weft_request* request) {
    const void* from = is_in_place && kind != WEFT_NBC_SCATTER ? WEFT_IN_PLACE : send->data;
    void* into =
        is_in_place && kind == WEFT_NBC_SCATTER ? (void*)(intptr_t)WEFT_IN_PLACE : recv->data;
    const size_t bytes =
        send->bytes ? send->bytes : recv->bytes; /* 0 on a side that does not count */
    switch (kind) {
        case WEFT_NBC_BCAST:
            return weft_ibcast(send->data ? send->data : recv->data, bytes, WEFT_BYTE, root, comm,
                               request);
        case WEFT_NBC_GATHER:
            if (!is_v) return weft_igather(from, into, bytes, WEFT_BYTE, root, comm, request);
            return weft_igatherv(from, send->bytes, into, recv->sizes, recv->offsets, WEFT_BYTE,
                                 root, comm, request);
        case WEFT_NBC_SCATTER:
            if (!is_v) return weft_iscatter(from, into, bytes, WEFT_BYTE, root, comm, request);
            return weft_iscatterv(from, send->sizes, send->offsets, into, recv->bytes, WEFT_BYTE,
                                  root, comm, request);
        case WEFT_NBC_ALLGATHER:
            if (!is_v) return weft_iallgather(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_iallgatherv(from, send->bytes, into, recv->sizes, recv->offsets, WEFT_BYTE,
                                    comm, request);
        case WEFT_NBC_ALLTOALL:
            if (!is_v) return weft_ialltoall(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ialltoallv(from, send->sizes, send->offsets, into, recv->sizes,
                                   recv->offsets, WEFT_BYTE, comm, request);
        case WEFT_NBC_NEIGHBOR_ALLGATHER:
            if (!is_v) return weft_ineighbor_allgather(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ineighbor_allgatherv(from, send->bytes, into, recv->sizes, recv->offsets,
                                             WEFT_BYTE, comm, request);
        default:
            if (!is_v) return weft_ineighbor_alltoall(from, into, bytes, WEFT_BYTE, comm, request);
            return weft_ineighbor_alltoallv(from, send->sizes, send->offsets, into, recv->sizes,
                                            recv->offsets, WEFT_BYTE, comm, request);
    }
}

/* All collectives that only move data. A side with -1 blocks has one for each rank. As in LibNBC, equal buffers also
   mean in place. */
static WEFT_INLINE int weft_nbc_move(int kind, weft_nbc_side send, weft_nbc_side recv, int root,
                                     MPI_Comm comm, NBC_Handle* handle) {
    const int is_v = send.is_v || recv.is_v;
    const int is_rooted = kind <= WEFT_NBC_SCATTER;
    const int is_among_neighbors = kind >= WEFT_NBC_NEIGHBOR_ALLGATHER;
    const void* marked = kind == WEFT_NBC_SCATTER ? recv.buf : send.buf;
    int sends, receives, is_in_place, first = 0, last = 0;
    int code = NBC_Init_handle(handle, comm);
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    if (code == NBC_OK) code = weft_nbc_comm_of(comm, &own);
    if (code != NBC_OK) return code;
    if (is_rooted && (root < 0 || root >= own->ranks)) return NBC_INVALID_PARAM;
    if (!(call = weft_nbc_new_call())) return NBC_OOR;
    if (send.blocks < 0) send.blocks = own->ranks;
    if (recv.blocks < 0) recv.blocks = own->ranks;

    /* which sides count on this rank */
    sends = !is_rooted || kind == WEFT_NBC_GATHER || own->rank == root;
    receives =
        !is_rooted || kind == WEFT_NBC_SCATTER || (own->rank == root) == (kind == WEFT_NBC_GATHER);
    is_in_place = kind != WEFT_NBC_BCAST && !is_among_neighbors && sends && receives &&
                  (marked == MPI_IN_PLACE || (send.buf && send.buf == recv.buf && !send.types));
    if (is_in_place && kind == WEFT_NBC_SCATTER) {
        receives = 0;
    } else if (is_in_place) {
        sends = 0;
        first = kind == WEFT_NBC_ALLTOALL ? 0 : own->rank;
        last = kind == WEFT_NBC_ALLTOALL ? own->ranks : own->rank + 1;
    } else if (is_among_neighbors) {
        last = recv.blocks; /* those of neighbors that are not there stay as they are */
    }
    if (sends) code = weft_nbc_lay_out_send(call, &send);
    if (receives && code == NBC_OK) code = weft_nbc_lay_out_recv(call, &recv, first, last);
    if (sends && receives && !is_v && send.bytes != recv.bytes) code = NBC_INVALID_PARAM;
    if (code == NBC_OK) {
        code = weft_nbc_code(weft_nbc_start_move(kind, &send, &recv, is_v, is_in_place, root,
                                                 is_among_neighbors ? own->neighbors : own->comm,
                                                 &call->request));
    }
    return weft_nbc_begun(handle, call, code);
}

static WEFT_INLINE int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own;
    int code = NBC_Init_handle(handle, comm);
    if (code == NBC_OK) code = weft_nbc_comm_of(comm, &own);
    if (code == NBC_OK && !(call = weft_nbc_new_call())) code = NBC_OOR;
    if (code == NBC_OK) code = weft_nbc_code(weft_ibarrier(own->comm, &call->request));
    return weft_nbc_begun(handle, call, code);
}

static WEFT_INLINE int NBC_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root,
                                  MPI_Comm comm, NBC_Handle* handle) {
    const weft_nbc_side side = weft_nbc_blocks(buffer, count, datatype, 1);
    return weft_nbc_move(WEFT_NBC_BCAST, side, side, root, comm, handle);
}

static WEFT_INLINE int NBC_Ibcast_inter(void* buffer, int count, MPI_Datatype datatype, int root,
                                        MPI_Comm comm, NBC_Handle* handle) {
    (void)buffer, (void)count, (void)datatype, (void)root, (void)comm, (void)handle;
    return NBC_NOT_IMPLEMENTED;
}

static WEFT_INLINE int NBC_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                   MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_GATHER, weft_nbc_blocks(sendbuf, sendcount, sendtype, 1),
                         weft_nbc_blocks(recvbuf, recvcount, recvtype, -1), root, comm, handle);
}

static WEFT_INLINE int NBC_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, const int* recvcounts, const int* displs,
                                    MPI_Datatype recvtype, int root, MPI_Comm comm,
                                    NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_GATHER, weft_nbc_blocks(sendbuf, sendcount, sendtype, 1),
                         weft_nbc_blocks_v(recvbuf, recvcounts, displs, recvtype, -1), root, comm,
                         handle);
}

static WEFT_INLINE int NBC_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, int recvcount, MPI_Datatype recvtype, int root,
                                    MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_SCATTER, weft_nbc_blocks(sendbuf, sendcount, sendtype, -1),
                         weft_nbc_blocks(recvbuf, recvcount, recvtype, 1), root, comm, handle);
}

static WEFT_INLINE int NBC_Iscatterv(const void* sendbuf, const int* sendcounts, const int* displs,
                                     MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                     MPI_Datatype recvtype, int root, MPI_Comm comm,
                                     NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_SCATTER,
                         weft_nbc_blocks_v(sendbuf, sendcounts, displs, sendtype, -1),
                         weft_nbc_blocks(recvbuf, recvcount, recvtype, 1), root, comm, handle);
}

static WEFT_INLINE int NBC_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                      void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                      MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_ALLGATHER, weft_nbc_blocks(sendbuf, sendcount, sendtype, 1),
                         weft_nbc_blocks(recvbuf, recvcount, recvtype, -1), 0, comm, handle);
}

static WEFT_INLINE int NBC_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, const int* recvcounts, const int* displs,
                                       MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_ALLGATHER, weft_nbc_blocks(sendbuf, sendcount, sendtype, 1),
                         weft_nbc_blocks_v(recvbuf, recvcounts, displs, recvtype, -1), 0, comm,
                         handle);
}

static WEFT_INLINE int NBC_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                     void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                     MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(WEFT_NBC_ALLTOALL, weft_nbc_blocks(sendbuf, sendcount, sendtype, -1),
                         weft_nbc_blocks(recvbuf, recvcount, recvtype, -1), 0, comm, handle);
}

static WEFT_INLINE int NBC_Ialltoallv(const void* sendbuf, const int* sendcounts,
                                      const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                                      const int* recvcounts, const int* rdispls,
                                      MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_move(
        WEFT_NBC_ALLTOALL, weft_nbc_blocks_v(sendbuf, sendcounts, sdispls, sendtype, -1),
        weft_nbc_blocks_v(recvbuf, recvcounts, rdispls, recvtype, -1), 0, comm, handle);
}

static WEFT_INLINE int NBC_Ialltoallw(const void* sendbuf, const int* sendcounts,
                                      const int* sdispls, const MPI_Datatype* sendtypes,
                                      void* recvbuf, const int* recvcounts, const int* rdispls,
                                      const MPI_Datatype* recvtypes, MPI_Comm comm,
                                      NBC_Handle* handle) {
    return weft_nbc_move(
        WEFT_NBC_ALLTOALL, weft_nbc_blocks_w(sendbuf, sendcounts, sdispls, NULL, sendtypes, -1),
        weft_nbc_blocks_w(recvbuf, recvcounts, rdispls, NULL, recvtypes, -1), 0, comm, handle);
}

/* --- Reductions ------------------------------------------------------------------------------ */

enum {
    WEFT_NBC_SIGNED = 1,
    WEFT_NBC_UNSIGNED = 2,
    WEFT_NBC_REAL = 4,
    WEFT_NBC_LOGICAL = 8,
    WEFT_NBC_BYTES = 16,
    WEFT_NBC_PAIR = 32
};

static WEFT_INLINE int weft_nbc_is_among(MPI_Datatype type, const MPI_Datatype* types, int count) {
    int i;
    for (i = 0; i < count; ++i)
        if (type == types[i]) return 1;
    return 0;
}

/* The kind of a predefined type; 0 if Weft has none like it. */
static WEFT_INLINE int weft_nbc_kind(MPI_Datatype type) {
    const MPI_Datatype signeds[] = {
        MPI_INT,      MPI_LONG,    MPI_LONG_LONG_INT, MPI_SHORT, MPI_SIGNED_CHAR, MPI_INT8_T,
        MPI_INT16_T,  MPI_INT32_T, MPI_INT64_T,       MPI_AINT,  MPI_OFFSET,      MPI_INTEGER,
#ifdef MPI_COUNT
        MPI_COUNT,
#endif
#ifdef MPI_INTEGER1
        MPI_INTEGER1,
#endif
#ifdef MPI_INTEGER2
        MPI_INTEGER2,
#endif
#ifdef MPI_INTEGER4
        MPI_INTEGER4,
#endif
#ifdef MPI_INTEGER8
        MPI_INTEGER8,
#endif
    };
    const MPI_Datatype unsigneds[] = {MPI_UNSIGNED,      MPI_UNSIGNED_LONG,  MPI_UNSIGNED_LONG_LONG,
                                      MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UINT8_T,
                                      MPI_UINT16_T,      MPI_UINT32_T,       MPI_UINT64_T};
    const MPI_Datatype reals[] = {
        MPI_DOUBLE, MPI_FLOAT, MPI_REAL, MPI_DOUBLE_PRECISION,
#ifdef MPI_REAL4
        MPI_REAL4,
#endif
#ifdef MPI_REAL8
        MPI_REAL8,
#endif
    };
    const MPI_Datatype logicals[] = {MPI_C_BOOL, MPI_LOGICAL};
    const MPI_Datatype pairs[] = {MPI_DOUBLE_INT, MPI_FLOAT_INT, MPI_2INT, MPI_LONG_INT,
                                  MPI_2INTEGER};
#define WEFT_NBC_IS_AMONG(types) weft_nbc_is_among(type, types, (int)(sizeof types / sizeof *types))
    if (type == MPI_DATATYPE_NULL) return 0;
    if (type == MPI_BYTE) return WEFT_NBC_BYTES;
    if (WEFT_NBC_IS_AMONG(signeds)) return WEFT_NBC_SIGNED;
    if (WEFT_NBC_IS_AMONG(reals)) return WEFT_NBC_REAL;
    if (WEFT_NBC_IS_AMONG(unsigneds)) return WEFT_NBC_UNSIGNED;
    if (WEFT_NBC_IS_AMONG(logicals)) return WEFT_NBC_LOGICAL;
    return WEFT_NBC_IS_AMONG(pairs) ? WEFT_NBC_PAIR : 0;
#undef WEFT_NBC_IS_AMONG
}

/* Weft's names of a predefined type and operation. */
static WEFT_INLINE int weft_nbc_reduction(MPI_Datatype type, MPI_Op op, weft_type* element,
                                          weft_op* combines) {
    static const weft_type integers[2][4] = {{WEFT_INT8, WEFT_INT16, WEFT_INT32, WEFT_INT64},
                                             {WEFT_UINT8, WEFT_UINT16, WEFT_UINT32, WEFT_UINT64}};
    const struct {
        MPI_Op mpi;
        weft_op weft;
        int kinds;
    } ops[] = {
        {MPI_SUM, WEFT_SUM, 7},    {MPI_PROD, WEFT_PROD, 7},      {MPI_MIN, WEFT_MIN, 7},
        {MPI_MAX, WEFT_MAX, 7},    {MPI_LAND, WEFT_LAND, 11},     {MPI_LOR, WEFT_LOR, 11},
        {MPI_LXOR, WEFT_LXOR, 11}, {MPI_BAND, WEFT_BAND, 19},     {MPI_BOR, WEFT_BOR, 19},
        {MPI_BXOR, WEFT_BXOR, 19}, {MPI_MINLOC, WEFT_MINLOC, 32}, {MPI_MAXLOC, WEFT_MAXLOC, 32}};
    const int kind = weft_nbc_kind(type);
    int size, place = 0, i;
    if (kind == 0) return NBC_DATATYPE_NOT_SUPPORTED;
    MPI_Type_size(type, &size);
    while (place < 4 && 1 << place != size) ++place;
    if (kind == WEFT_NBC_BYTES) {
        *element = WEFT_BYTE;
    } else if (kind == WEFT_NBC_PAIR) {
        *element = type == MPI_DOUBLE_INT  ? WEFT_FLOAT64_INT32
                   : type == MPI_FLOAT_INT ? WEFT_FLOAT32_INT32
                   : size == 8             ? WEFT_INT32_INT32
                                           : WEFT_INT64_INT32;
        if (type == MPI_2INTEGER && size != 8) return NBC_DATATYPE_NOT_SUPPORTED;
    } else if (place == 4 || (kind == WEFT_NBC_REAL && place < 2)) {
        return NBC_DATATYPE_NOT_SUPPORTED;
    } else if (kind == WEFT_NBC_REAL) {
        *element = place == 2 ? WEFT_FLOAT32 : WEFT_FLOAT64;
    } else {
        *element = integers[kind != WEFT_NBC_SIGNED][place];
    }
    for (i = 0; i < (int)(sizeof ops / sizeof *ops); ++i) {
        if (op != ops[i].mpi || !(kind & ops[i].kinds)) continue;
        *combines = ops[i].weft;
        return NBC_OK;
    }
    return NBC_OP_NOT_SUPPORTED;
}

enum { WEFT_NBC_REDUCE, WEFT_NBC_ALLREDUCE, WEFT_NBC_SCAN, WEFT_NBC_REDUCE_SCATTER };

static WEFT_INLINE int weft_nbc_combine(int which, const void* sendbuf, void* recvbuf, int count,
                                        const int* counts, MPI_Datatype datatype, MPI_Op op,
                                        int root, MPI_Comm comm, NBC_Handle* handle) {
    const void* from = sendbuf;
    struct weft_nbc_call* call = NULL;
    weft_nbc_comm* own = NULL;
    weft_request* request;
    weft_type type = WEFT_BYTE;
    weft_op combines = WEFT_OP_NULL;
    weft_status status;
    size_t* sizes = NULL;
    int i, code = NBC_Init_handle(handle, comm);
    if (code == NBC_OK) code = weft_nbc_comm_of(comm, &own);
    if (code == NBC_OK) code = weft_nbc_reduction(datatype, op, &type, &combines);
    if (code != NBC_OK) return code;
    if (count < 0) return NBC_INVALID_PARAM;
    if (!(call = weft_nbc_new_call())) return NBC_OOR;
    if (which == WEFT_NBC_REDUCE_SCATTER) {
        sizes = (size_t*)weft_nbc_own(call, (size_t)own->ranks * sizeof *sizes);
        for (i = 0; sizes && i < own->ranks; ++i) {
            if (counts[i] < 0) return weft_nbc_begun(handle, call, NBC_INVALID_PARAM);
            sizes[i] = (size_t)counts[i];
        }
        if (!sizes) return weft_nbc_begun(handle, call, NBC_OOR);
    }
    if (sendbuf == MPI_IN_PLACE ||
        (sendbuf && sendbuf == recvbuf && (which != WEFT_NBC_REDUCE || own->rank == root)))
        from = WEFT_IN_PLACE;
    request = &call->request;
    switch (which) {
        case WEFT_NBC_REDUCE:
            status = weft_ireduce(from, recvbuf, (size_t)count, type, combines, root, own->comm,
                                  request);
            break;
        case WEFT_NBC_ALLREDUCE:
            status =
                weft_iallreduce(from, recvbuf, (size_t)count, type, combines, own->comm, request);
            break;
        case WEFT_NBC_SCAN:
            status = weft_iscan(from, recvbuf, (size_t)count, type, combines, own->comm, request);
            break;
        default:
            status = weft_ireduce_scatter(from, recvbuf, sizes, type, combines, own->comm, request);
    }
    return weft_nbc_begun(handle, call, weft_nbc_code(status));
}

static WEFT_INLINE int NBC_Ireduce(const void* sendbuf, void* recvbuf, int count,
                                   MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                                   NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_REDUCE, sendbuf, recvbuf, count, NULL, datatype, op, root,
                            comm, handle);
}

static WEFT_INLINE int NBC_Iallreduce(const void* sendbuf, void* recvbuf, int count,
                                      MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                      NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_ALLREDUCE, sendbuf, recvbuf, count, NULL, datatype, op, 0,
                            comm, handle);
}

static WEFT_INLINE int NBC_Iscan(const void* sendbuf, void* recvbuf, int count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                 NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_SCAN, sendbuf, recvbuf, count, NULL, datatype, op, 0, comm,
                            handle);
}

static WEFT_INLINE int NBC_Ireduce_scatter(const void* sendbuf, void* recvbuf,
                                           const int* recvcounts, MPI_Datatype datatype, MPI_Op op,
                                           MPI_Comm comm, NBC_Handle* handle) {
    return weft_nbc_combine(WEFT_NBC_REDUCE_SCATTER, sendbuf, recvbuf, 0, recvcounts, datatype, op,
                            0, comm, handle);
}

#ifdef __cplusplus
}
#endif

#include "weft/nbc_schedule.h"
/* uses it */
#include "weft/nbc_neighbors.h"

#endif
