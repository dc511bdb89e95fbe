/* The interface of LibNBC (T. Hoefler, A. Lumsdaine and W. Rehm, 2007: Implementation and
   Performance Analysis of Non-Blocking Collective Operations for MPI, doi
   10.1145/1362622.1362692) for programs that use an MPI: its collectives, handles and schedules,
   run by Weft. Like weft/mpi.h it is compiled into the program, against its MPI; link with
   -lweft. docs/nbc.md says what is the same as in LibNBC, and what differs.

   One thread at a time. As in LibNBC, a communicator's first call is collective; all ranks call
   its operations in the same order; the arguments and MPI_IN_PLACE are MPI's. weft_last_detail()
   explains failures of Weft. */
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
/* A reduction of a type that Weft does not have; in schedules and by the program's operations, a
   type that is not contiguous. */
#define NBC_DATATYPE_NOT_SUPPORTED 4
#define NBC_OP_NOT_SUPPORTED 5 /* not for this type; in schedules, user-defined */
#define NBC_NOT_IMPLEMENTED 6  /* intercommunicators; NBC_Sched_unpack */
#define NBC_INVALID_PARAM 7
#define NBC_INVALID_TOPOLOGY_COMM 8 /* the communicator has no topology */
/* Not in LibNBC: Weft refused or failed, a lost rank for example. weft_last_detail() says why. */
#define NBC_WEFT_FAILED 100

/* A schedule in the making, or committed. It belongs to the program: NBC_Start takes it any
   number of times. */
typedef void* NBC_Schedule;

/* An operation. The program gives it the memory, which must stay where it is until the operation
   is done. */
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
WEFT_NBC_SHARED MPI_Request weft_nbc_never; /* a receive without a send */

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

#include "weft/nbc_blocks.h"

/* --- Handles --------------------------------------------------------------------------------- */

/* Frees what a call holds. */
static WEFT_INLINE void weft_nbc_drop(struct weft_nbc_call* call) {
    int i;
    if (call->unpacks.type != MPI_DATATYPE_NULL) MPI_Type_free(&call->unpacks.type);
    for (i = 0; call->types && i < call->unpacks.blocks; ++i)
        if (call->types[i] != MPI_DATATYPE_NULL) MPI_Type_free(&call->types[i]);
    if (call->op != WEFT_OP_NULL) weft_op_free(&call->op);
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

/* A rank may wait for other messages of the program before it comes to the collective. (Not
   MPI_Iprobe: MPICH 5.0.2 moves nothing then, if the communicator is MPI_COMM_SELF.) */
static WEFT_INLINE void weft_nbc_let_mpi_work(void) {
    int is_done;
    MPI_Test(&weft_nbc_never, &is_done, MPI_STATUS_IGNORE);
}

static WEFT_INLINE int weft_nbc_prepare(NBC_Handle* handle, MPI_Comm comm, weft_nbc_comm** own) {
    if (!handle) return NBC_INVALID_PARAM;
    handle->comm = comm;
    handle->tmpbuf = NULL;
    handle->call = NULL;
    return weft_nbc_comm_of(comm, own);
}

/* Prepares a handle for NBC_Start. */
static WEFT_INLINE int NBC_Init_handle(NBC_Handle* handle, MPI_Comm comm) {
    weft_nbc_comm* found;
    return weft_nbc_prepare(handle, comm, &found);
}

/* What every collective begins with. */
static WEFT_INLINE int weft_nbc_begin(NBC_Handle* handle, MPI_Comm comm, weft_nbc_comm** own,
                                      struct weft_nbc_call** call) {
    int code = weft_nbc_prepare(handle, comm, own);
    if (code == NBC_OK && !(*call = weft_nbc_new_call())) code = NBC_OOR;
    return code;
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

/* Returns when the operation has ended; NBC_CONTINUE only after weft_interrupt. `status` is not
   touched. */
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

#include "weft/nbc_collectives.h"
#include "weft/nbc_schedule.h"
/* uses both of them */
#include "weft/nbc_neighbors.h"

#ifdef __cplusplus
}
#endif

#endif
