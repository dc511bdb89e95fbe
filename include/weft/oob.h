/*
 * Communicators of processes that another library has started. They find each other by an
 * out-of-band exchange; if that library is an MPI, it can also give them a channel for all their
 * messages. weft/mpi.h provides both for an MPI.
 */
#ifndef WEFT_OOB_H
#define WEFT_OOB_H

#include <stddef.h>
#include <stdint.h>

#include "weft/comm.h"
#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A channel of an MPI, for WEFT_TRANSPORT=mpi: messages between the processes of the group,
 * separate from the program's other messages. The functions return 0, or an error of the MPI.
 *
 * A request takes `request_bytes` bytes. Weft keeps requests, also in arrays. It does not test a
 * completed request again before it reuses it.
 */
/** No error: nothing was there to receive. */
#define WEFT_MPI_NOTHING (-1)

typedef struct weft_mpi_channel {
    int any_thread; /* not 0: any thread may call the functions, at any time */
    size_t request_bytes;
    /*
     * Opens the channel. Collective; blocks. `context` is weft_oob's. If `open` is null there is
     * none.
     */
    int (*open)(void* context, void** channel);
    /*
     * Sends to process `to`; receives at most `bytes` from any process. The messages of one process
     * match the receives in order. `receive` may return WEFT_MPI_NOTHING: no message has come, and
     * the receive, which test_some skips, is tried again later.
     */
    int (*send)(void* channel, const void* data, int bytes, int to, void* request);
    int (*receive)(void* channel, void* data, int bytes, void* request);
    /* Writes to *ended how many of `count` requests have completed, and to `indices` which. Skips
       requests that it has reported before. Does not block. */
    int (*test_some)(void* channel, int count, void* requests, int* ended, int* indices);
    /* Cancels `count` receives and closes the channel. */
    int (*close)(void* channel, int count, void* requests);
} weft_mpi_channel;

/** The out-of-band exchange of a group of processes. */
typedef struct weft_oob {
    size_t struct_bytes; /* sizeof(weft_oob) in the program */
    void* context;       /* for allgather and mpi.open; used only during the call */
    int rank;            /* of the calling process in the group */
    int ranks;

    /*
     * Gathers `bytes` bytes of every process into all[ranks][bytes], by rank. Blocks. Returns 0, or
     * an error of the library's own.
     */
    int (*allgather)(void* context, const void* mine, void* all, int bytes);

    weft_mpi_channel mpi; /* zeros: none */
} weft_oob;

/**
 * Make a communicator of the processes of `oob`, with their ranks there. It is like any other: its
 * ranks use shm and tcp, unless WEFT_TRANSPORT=mpi.
 *
 * The first call joins the job, as weft_init does, unless weft_init was called: the group is then
 * the job, and weft_comm_world has its ranks. Other calls make a communicator of some or all ranks
 * of the job, or of processes of several jobs: a process may be in any number of groups, which may
 * overlap and be made in any order. A process that joins no job before it makes a group with
 * members of jobs is a job of its own, of one rank.
 *
 * Groups of several jobs reach each other by shm and tcp, without task lists and with all links;
 * the detail names their ranks by their places in the group. They share the engine and its thread
 * with the others. Their connections are kept for later groups of the same processes, as long as a
 * communicator uses them, and those of the last few groups longer.
 *
 * Agree     the WEFT_* settings that shape messages, and the Weft version, are the same on every
 *           rank.
 * Calling   one thread, collective over the group; blocks until all its processes have called it.
 *           If a process ends or fails during the call, the other library handles that. What is
 *           pending advances meanwhile: with the engines manual and fiber in a thread that ends
 *           with the call, unless WEFT_TRANSPORT=mpi and the MPI is below MPI_THREAD_MULTIPLE.
 *           Then, if another process must complete operations with this one before it makes its
 *           call, wait for them here first.
 * Returns   WEFT_OK: *comm is the communicator; weft_comm_free frees it.
 *           WEFT_REFUSED_ARGUMENT: a null or unknown kind of `oob`, or a null `comm`.
 *           WEFT_REFUSED_STATE: Weft was finalized in a process of the group. Refused on every
 *           rank.
 *           WEFT_REFUSED_UNSUPPORTED: a function of `oob` failed; or WEFT_ENGINE=thread with
 *           WEFT_TRANSPORT=mpi and an MPI below MPI_THREAD_MULTIPLE; or WEFT_TRANSPORT is mpi or
 *           ucx, and the group has processes of several jobs; or a thread asked for signals
 *           (weft_scheduler_signal), and not all these processes are reached by tcp.
 *           WEFT_REFUSED_SETTING, WEFT_REFUSED_MEMORY, WEFT_BROKEN_*: as weft_init.
 *           *comm is untouched unless WEFT_OK.
 */
WEFT_API weft_status weft_comm_from_oob(const weft_oob* oob, weft_comm* comm);

/** The ranks of a communicator that is made without messages. Zero means absent. */
typedef struct weft_members {
    size_t struct_bytes; /* sizeof(weft_members) in the program */
    uint64_t number;     /* the same on all members; see weft_comm_from_members */
    int ranks;
    const int* world_ranks; /* [ranks]: rank r is world_ranks[r] of weft_comm_world */

    /* The topology: a grid, a graph, or none. ndims > 0: a grid, as for weft_comm_cart. */
    int ndims;
    const int* dims;    /* [ndims] */
    const int* periods; /* [ndims] */
    /* Not 0: a graph, as for weft_comm_graph, with numbers of the new communicator. */
    int has_graph;
    int indegree;
    const int* sources; /* [indegree] */
    int outdegree;
    const int* destinations; /* [outdegree] */
} weft_members;

/**
 * Make a communicator of ranks that know each other, without a message: for libraries whose ranks
 * already agree on communicators. It has the settings of weft_comm_world, but uses all links, and
 * has no dedicated connections for task lists.
 *
 * Members find each other's messages by `number`, of which Weft uses a hash of 39 bits: of n living
 * communicators that share ranks, two get the same one with a probability of about n^2 / 2^40. A
 * rank that already has the other communicator refuses; members without that other one find theirs
 * broken (WEFT_BROKEN_MEMORY). A number may be used again when all members have freed its
 * communicator, and none of them has since then been inside a weft_expect_comms or a constructor
 * that began before.
 *
 * Agree     `number`, `ranks`, `world_ranks` and the grid are the same on every member. No other
 *           communicator of the job that is not freed has the number. A graph is not compared with
 *           those of other members: rank a must name b as a destination as often as b names a as a
 *           source.
 * Calling   any thread. Does not block, and does not wait for the other members. If their messages
 *           may come before this call, announce it by weft_expect_comms.
 * Returns   WEFT_OK: *comm is the communicator; weft_comm_free frees it.
 *           WEFT_REFUSED_STATE before weft_init. WEFT_REFUSED_MEMORY.
 *           WEFT_REFUSED_ARGUMENT: a null or unknown kind of `members`, a null `comm`; ranks that
 *           are not in the job, are named twice, or do not include the caller; a grid with more or
 *           fewer places than ranks, bad neighbors, or both topologies; a number, or its hash, that
 *           another communicator of this rank has.
 *           WEFT_BROKEN_*: a member died, broke the communicator or ran out of memory. On other
 *           members it is broken.
 *           *comm is untouched unless WEFT_OK.
 */
WEFT_API weft_status weft_comm_from_members(const weft_members* members, weft_comm* comm);

/**
 * Say that other ranks may use a communicator before this rank has made it
 * (weft_comm_from_members): from now on Weft keeps messages of communicators that this rank does
 * not have. Otherwise it drops them, like those of freed communicators. Calls are counted.
 *
 * To be sure that no message comes too early, call weft_expect_comms(1), then synchronize with the
 * other members, for example by the collective after which ranks may make the communicator; and
 * weft_expect_comms(0) when it is made.
 *
 * `more`    1: one more is expected. 0: ends one such call.
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT for another value; WEFT_REFUSED_MEMORY;
 *           WEFT_REFUSED_STATE before weft_init, or if none is expected.
 */
WEFT_API weft_status weft_expect_comms(int more);

/**
 * Take the place of a call of a collective that this rank cannot make, though others may: for
 * libraries that make the calls of a program. If any other rank makes that call, started or
 * persistent, the communicator breaks on all ranks with WEFT_BROKEN_MESSAGE; the sentence names
 * this rank, and `why` as far as it fits (55 bytes). If all ranks refuse the call, the communicator
 * goes on.
 *
 * Agree     the order of calls on `comm`, made or refused, nonblocking, blocking or persistent, is
 *           the same on every rank.
 * Calling   any thread, one at a time per communicator. Does not block.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT: a null `why`; WEFT_REFUSED_HANDLE; WEFT_REFUSED_STATE.
 */
WEFT_API weft_status weft_comm_refuse_call(weft_comm comm, const char* why);

/**
 * Break a communicator on all its ranks, because this rank cannot go on with it: as when another
 * rank makes a call that was refused by weft_comm_refuse_call.
 *
 * Calling   any thread. Does not block.
 * Returns   as weft_comm_refuse_call.
 */
WEFT_API weft_status weft_comm_break(weft_comm comm, const char* why);

#ifdef __cplusplus
}
#endif

#endif
