/* Starting and ending Weft, and communicators. */
#ifndef WEFT_COMM_H
#define WEFT_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A group of ranks and the order of their operations. */
typedef struct weft_comm_handle* weft_comm;

#define WEFT_COMM_NULL ((weft_comm)0)

/**
 * A color for weft_comm_split: no communicator for this rank. (MPI_UNDEFINED in MPI's standard
 * ABI.)
 */
#define WEFT_COLOR_NONE (-32766)

/** How operations advance while the program computes. */
typedef enum weft_engine WEFT_ANY_INT {
    WEFT_ENGINE_MANUAL = 0,     /* the program's own test and wait calls */
    WEFT_ENGINE_THREAD = 1,     /* one thread per process that sleeps until something arrives */
    WEFT_ENGINE_KERNEL = 3,     /* the operating system (io_uring), submitted by that thread */
    WEFT_ENGINE_KERNEL_OWN = 4, /* ... submitted by the thread that called weft_init */
    WEFT_ENGINE_AUTO = 5,       /* kernel for operations where it pays, otherwise thread */
    WEFT_ENGINE_FIBER = 6       /* the scheduler of fibers (weft/fiber.hpp), or as manual */
} weft_engine;

/**
 * Join the job: find the other ranks and connect to them. What starts them is in docs/cluster.md:
 * `weft run`, mpiexec, srun, torchrun, Kubernetes, ssh; otherwise this is a job of one rank.
 * A program that uses MPI joins by weft_comm_from_mpi (weft/mpi.h), or calls this after MPI_Init.
 *
 * Agree     the WEFT_* settings that shape messages, and the Weft version, are the same on every
 *           rank.
 * Calling   once per process, collective over the job; blocks until every rank has called it.
 * Returns   WEFT_OK.
 *           WEFT_REFUSED_STATE: already called, the launcher is gone, or not all ranks joined in
 *           time.
 *           WEFT_REFUSED_SETTING: a WEFT_* setting is malformed, or differs from another rank's
 *           (the detail names the rank and the setting).
 *           WEFT_REFUSED_MEMORY, WEFT_REFUSED_UNSUPPORTED: see the detail.
 *           WEFT_BROKEN_*: a rank ended, or the operating system failed, while ranks connected.
 */
WEFT_API weft_status weft_init(void);

/**
 * Leave the job and free everything. Not collective: messages already sent still arrive.
 *
 * Calling   one thread, while no other is inside Weft.
 * Returns   WEFT_OK. WEFT_REFUSED_STATE before weft_init or after weft_finalize.
 *           WEFT_REFUSED_OUTSTANDING: some requests were never completed, though their operations
 *           may have ended (the detail lists them; those that failed do not count); nothing
 *           changed.
 *           WEFT_TIMED_OUT: WEFT_TIMEOUT passed before some ranks took the last messages of
 *           completed operations (the detail names the ranks); nothing changed. Call again. If you
 *           end the process instead, those ranks will report it as dead.
 */
WEFT_API weft_status weft_finalize(void);

/** 1 between weft_init and weft_finalize, otherwise 0. */
WEFT_API int weft_is_initialized(void);

/**
 * The communicator of all ranks of the job.
 *
 * Returns   WEFT_COMM_NULL before weft_init and after weft_finalize.
 */
WEFT_API weft_comm weft_comm_world(void);

/**
 * The communicator of this process alone.
 *
 * Returns   WEFT_COMM_NULL before weft_init and after weft_finalize.
 */
WEFT_API weft_comm weft_comm_self(void);

/**
 * Make a communicator of the same ranks. Its operations and those of `comm` do not wait for each
 * other.
 *
 * Agree     the order of this call and of starts on `comm` is the same on every rank.
 * Calling   any thread, one at a time per communicator, collective over `comm`; blocks until every
 *           rank has called it.
 * Returns   WEFT_OK: *new_comm is the communicator.
 *           WEFT_REFUSED_HANDLE; WEFT_REFUSED_MEMORY.
 *           WEFT_REFUSED_ARGUMENT: a null `new_comm`; or a rank called another constructor: refused
 *           on every rank; the detail names the rank; `comm` stays usable.
 *           WEFT_BROKEN_*: `comm` is broken, or a rank died or ran out of memory. On
 *           ranks that already have the new communicator, it is broken. WEFT_BROKEN_TIMEOUT:
 *           WEFT_TIMEOUT has passed; `comm` is broken on every rank, as after a blocking collective
 *           (see weft_barrier). *new_comm is untouched unless WEFT_OK.
 * Source    MPI-5.0 section 7.4.2
 */
WEFT_API weft_status weft_comm_dup(weft_comm comm, weft_comm* new_comm);

/**
 * Duplicate `comm` with other settings. The duplicate keeps those that `settings` does not name:
 * words separated by spaces; null or empty: none.
 *
 *   COLLECTIVE=ALGORITHM   as in WEFT_ALGORITHM: "bcast=chain:segment=64K,window=8"
 *   reproducible=0, reproducible=1
 *                          1: reductions combine by one association, f(lo, hi) = f(lo, m) op f(m,
 *                          hi) with m = lo + the largest power of two below hi - lo, where f(0,
 *                          ranks) is the result, and of a scan on rank r f(0, r + 1).
 *                          Floating-point results then do not depend on algorithm, engine,
 *                          transport, timing or nodes. Algorithms that combine otherwise serve only
 *                          integers. Default: WEFT_REPRODUCIBLE
 *   accumulate=type, accumulate=float32
 *                          float32: sums, averages and products of WEFT_FLOAT16 and WEFT_BFLOAT16
 *                          are computed in float32 on all their way, and rounded once, at the end.
 *                          Messages then have twice the bytes, and a call takes memory for its
 *                          operands and results as float32. Default: type, rounded at every
 *                          combination
 *   wire=exact, wire=bfloat16, wire=int8
 *                          what elements of WEFT_FLOAT32 are in messages of allreduce, allgather
 *                          and alltoall, to all other ranks, on the node too. bfloat16: 2 bytes.
 *                          int8: blocks of 120 elements in 128 bytes, whose errors are bounded (see
 *                          weft_comm_wire_error); for sums and averages of an allreduce, not for
 *                          products, minima and maxima. All elements of a result have been rounded
 *                          so, also a rank's own, and all ranks get the same bits. Other calls, and
 *                          those that would not take fewer bytes, are exact. A call takes memory
 *                          for its operands and results in this format. Default: exact
 *   links=1, links=all     how many of the links between two nodes (WEFT_INTERFACES) the messages
 *                          use, 1..8, or all: 1 keeps a communicator on one link. Communicators
 *                          that are made one after the other take turns. Default: all
 *   offload=0, offload=1   see weft_comm_set_offload
 *
 * To choose an algorithm for single calls, make them on such a duplicate.
 *
 * Agree     as weft_comm_dup; also the algorithms that `settings` names, in the same spelling,
 *           `reproducible`, `accumulate`, `wire` and `links`. With a wire format also whether the
 *           type of an allgather or alltoall is WEFT_FLOAT32.
 * Calling   as weft_comm_dup.
 * Returns   as weft_comm_dup; also WEFT_REFUSED_ARGUMENT for an unknown word, and on every rank
 *           when ranks give different settings, or one gives a bad word (the detail names a rank);
 *           WEFT_REFUSED_SETTING for an unknown algorithm, or a parameter that it does not have. A
 *           call that its algorithm cannot carry out is refused when it is made.
 * Source    MPI-5.0 section 7.4.2 (MPI_Comm_dup_with_info)
 */
WEFT_API weft_status weft_comm_dup_with(weft_comm comm, const char* settings, weft_comm* new_comm);

/**
 * Tell by how much an element of the results that this rank has got on `comm` with wire=int8 may be
 * off, since the last such call or since `comm` was made, and begin anew: the largest of all
 * elements of all results. So between a wait and this call no other operation should end on `comm`,
 * if it is to be one operation's.
 *
 * The bound is that of the data that was sent, and holds for each element: half the scale of every
 * block in which it was encoded, added up. (A block's scale is its largest magnitude / 127. If M is
 * the sum over the ranks of the largest magnitudes of their operands, an allreduce's bound is at
 * most ranks * M / 254, and a little for float32's own rounding; an allgather's is M / 254 with
 * the largest of all. An average's is divided by the ranks.) Not finite: in some block an operand
 * or a sum was not a number, was infinite, or its magnitude was 2^127 or more; then no element of
 * the block is a number. Magnitudes below 2^-100 may become 0.
 *
 * With wire=bfloat16 it is 0, and tells nothing: each encoding and each combination rounds as
 * WEFT_BFLOAT16 does, to 8 significant bits.
 *
 * Calling   any thread.
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT for a null `error`.
 */
WEFT_API weft_status weft_comm_wire_error(weft_comm comm, double* error);

/**
 * Make a communicator of the ranks that give the same `color`, ordered by `key`, then by rank in
 * `comm`.
 * WEFT_COLOR_NONE: none for this rank, *new_comm becomes WEFT_COMM_NULL.
 *
 * Agree     the order of this call and of starts on `comm` is the same on every rank.
 * Calling   any thread, one at a time per communicator, collective over `comm`; blocks until every
 *           rank has called it.
 * Returns   as weft_comm_dup; also WEFT_REFUSED_ARGUMENT for a negative `color` that is not
 *           WEFT_COLOR_NONE: on every rank, where the detail names the rank that gave it.
 * Source    MPI-5.0 section 7.4.2
 */
WEFT_API weft_status weft_comm_split(weft_comm comm, int color, int key, weft_comm* new_comm);

/**
 * Make a communicator of this node's ranks of `comm`, those that can share memory, ordered by
 * `key`, then by rank in `comm`.
 *
 * Agree     as weft_comm_split.
 * Calling   as weft_comm_split.
 * Returns   as weft_comm_dup.
 * Source    MPI-5.0 section 7.4.2 (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED)
 */
WEFT_API weft_status weft_comm_split_node(weft_comm comm, int key, weft_comm* new_comm);

/**
 * Make a communicator whose ranks form a grid, for the neighbor collectives. Ranks keep their
 * numbers; those for which the grid has no place get WEFT_COMM_NULL. The last dimension varies
 * fastest. In dimension d a rank has the neighbors 2d, one place down, and 2d + 1, one place up;
 * beyond the border of a dimension that is not periodic there is none, WEFT_RANK_NONE: its block is
 * neither sent nor received. A block sent to neighbor 2d arrives there as the block of neighbor 2d
 * + 1, and vice versa, even where both are the same rank, or the rank itself.
 *
 * Shapes    dims [ndims]: places in each dimension, at least 1; periods [ndims]: 0, or 1 for a
 *           ring.
 * Agree     the order of this call and of starts on `comm`, and all arguments, are the same on
 *           every rank.
 * Calling   as weft_comm_dup. Duplicates of the new communicator have the same topology, other
 *           children none.
 * Returns   as weft_comm_dup; also WEFT_REFUSED_ARGUMENT, on every rank, for dimensions that are
 *           bad, differ, or have more places than `comm` has ranks.
 * Source    MPI-5.0 section 8.5.1 (MPI_Cart_create without reordering)
 */
WEFT_API weft_status weft_comm_cart(weft_comm comm, int ndims, const int dims[],
                                    const int periods[], weft_comm* new_comm);

/**
 * Make a communicator of the same ranks whose neighbor collectives follow a graph: each rank names
 * the ranks that it gets blocks from and sends blocks to, by their number in `comm`. A rank may be
 * named several times: then the k-th edge from rank a to rank b meets b's k-th edge from a. Edges
 * from a rank to itself are allowed.
 *
 * Shapes    sources [indegree], destinations [outdegree].
 * Agree     the order of this call and of starts on `comm` is the same on every rank; rank a names
 *           b as a destination as often as b names a as a source.
 * Calling   as weft_comm_dup. Duplicates of the new communicator have the same topology, other
 *           children none.
 * Returns   as weft_comm_dup; also WEFT_REFUSED_ARGUMENT, on every rank, if a rank names one that
 *           is not in `comm`, or two ranks name each other a different number of times (the detail
 *           names them).
 * Source    MPI-5.0 section 8.5.4 (MPI_Dist_graph_create_adjacent without weights and reordering)
 */
WEFT_API weft_status weft_comm_graph(weft_comm comm, int indegree, const int sources[],
                                     int outdegree, const int destinations[], weft_comm* new_comm);

/** No neighbor, as MPI_PROC_NULL. */
#define WEFT_RANK_NONE (-1)

/**
 * How many blocks the calling process gets from neighbors, and sends to them.
 *
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT for a null address, or if `comm`
 *           has no topology.
 * Source    MPI-5.0 section 8.5.5 (MPI_Dist_graph_neighbors_count)
 */
WEFT_API weft_status weft_comm_neighbors_count(weft_comm comm, int* indegree, int* outdegree);

/**
 * The neighbors of the calling process, in the order of the blocks; in grids some may be
 * WEFT_RANK_NONE. Stores at most as many as there is room for.
 *
 * Shapes    sources [max_indegree], destinations [max_outdegree].
 * Returns   as weft_comm_neighbors_count; WEFT_REFUSED_ARGUMENT also for negative numbers.
 * Source    MPI-5.0 section 8.5.5 (MPI_Dist_graph_neighbors)
 */
WEFT_API weft_status weft_comm_neighbors(weft_comm comm, int max_indegree, int sources[],
                                         int max_outdegree, int destinations[]);

/**
 * Free a communicator; *comm becomes WEFT_COMM_NULL. Operations already started finish, and their
 * requests stay valid. Not collective. weft_finalize frees communicators that are left.
 *
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE for a null or freed communicator; WEFT_REFUSED_ARGUMENT
 *           for weft_comm_world and weft_comm_self.
 * Undefined starting an operation on it on some ranks but not on all.
 * Source    MPI-5.0 section 7.4.3
 */
WEFT_API weft_status weft_comm_free(weft_comm* comm);

/**
 * Call off everything that is pending on `comm`, on all its ranks, because this rank cannot or need
 * not go on. One rank alone may call it. Its operations on `comm` have then ended, with
 * WEFT_BROKEN_ABORT, which weft_test and weft_wait return at once; so have calls of other threads
 * that wait for them. No rank reads or writes their buffers any more, and the program may reuse
 * them before it completes the requests. On the other ranks the same happens when they hear of it:
 * a sleeping wait, or the progress thread, is woken. weft_last_detail names the rank and its
 * reason, of which up to 55 bytes are sent.
 *
 * `comm` can then only be freed; on a broken communicator the call changes nothing. Operations that
 * had ended keep their results. Communicators made from `comm`, and all others, go on, except one
 * that a rank is making from `comm` in this moment.
 *
 * Calling   any thread, at any time, also while others wait on `comm`. Does not block, with three
 *           exceptions: over UCX a transfer that has begun cannot be cancelled, and the call waits
 *           for its end, for WEFT_PEER_TIMEOUT at most; and an operation whose function of the
 *           program (weft_op_create, weft_schedule_call) runs in another thread ends when that
 *           returns: until then its request is pending and its buffers are in use; and with the
 *           engines kernel, kernel:own and auto the call, and all others of the process, wait until
 *           io_uring has ended what it did, for 10 s at most. If it has not ended then, a line on
 *           standard error says so, and the buffers are still in use.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT for a null `reason`; WEFT_REFUSED_HANDLE.
 */
WEFT_API weft_status weft_comm_abort(weft_comm comm, const char* reason);

/**
 * The calling process's rank in `comm`, 0 ... size-1.
 *
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT for a null `rank`.
 * Source    MPI-5.0 section 7.4.1
 */
WEFT_API weft_status weft_comm_rank(weft_comm comm, int* rank);

/**
 * The number of ranks in `comm`.
 *
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT for a null `size`.
 * Source    MPI-5.0 section 7.4.1
 */
WEFT_API weft_status weft_comm_size(weft_comm comm, int* size);

/**
 * Choose the progress engine of this process. Ranks need not agree; operations under way continue
 * under the new engine. The default is auto, or WEFT_ENGINE.
 *
 * The kernel engines hand a schedule's messages over TCP to the operating system when an operation
 * starts; it takes every dependent step when the step's data arrives. They need connections that
 * are dedicated to a communicator when it is made: at least one rank must have had auto or a kernel
 * engine when it called weft_init (auto only if no rank has several network interfaces). The
 * progress thread does the rest, which is counted (`weft info` in a job and WEFT_STATS=1 print the
 * counts).
 *
 * WEFT_ENGINE_AUTO hands over only operations that pass messages on between ranks with a core each,
 * and none where the operating system does not support that.
 *
 * WEFT_ENGINE_KERNEL_OWN has the lowest latency and is not transparent: each step interrupts the
 * thread that called weft_init, which alone may start operations. Its epoll_wait, semtimedop,
 * sigtimedwait and timed recv then return EINTR, and a blocking recv with MSG_WAITALL may return
 * short; nanosleep, poll, select and futexes are not affected. Steps wait while that thread is
 * inside a long system call, and stop when it ends. WEFT_ENGINE_KERNEL has none of these effects.
 *
 * Calling   any thread after weft_init. Leaving an engine with a thread waits for that thread to
 *           end. A thread stays while operations that it has submitted are pending.
 * Returns   WEFT_OK; WEFT_REFUSED_ARGUMENT for an unknown engine; WEFT_REFUSED_STATE before
 *           weft_init; WEFT_REFUSED_UNSUPPORTED if the operating system does not support a kernel
 *           engine.
 */
WEFT_API weft_status weft_set_engine(weft_engine engine);

/**
 * The progress engine of this process; WEFT_ENGINE_MANUAL before weft_init.
 */
WEFT_API weft_engine weft_get_engine(void);

/** What this process has done since it joined the job, and what it holds. */
typedef struct weft_statistics {
    size_t struct_bytes;          /* sizeof(weft_statistics) in the program */
    uint64_t operations;          /* started, those of constructors included */
    uint64_t offloaded;           /* of these: handed to the operating system */
    uint64_t unexpected_messages; /* which arrived before their receive was posted */
    uint64_t connections;         /* to other ranks, now */
    uint64_t descriptors;         /* of the transports, now */
    uint64_t memory_bytes;        /* of the transports, now; shared memory included */
} weft_statistics;

/**
 * Count what this process has done and holds.
 *
 * Calling   any thread. Local.
 * Returns   WEFT_OK. WEFT_REFUSED_ARGUMENT for a null address or another `struct_bytes`;
 *           WEFT_REFUSED_STATE before weft_init and after weft_finalize: *statistics untouched.
 */
WEFT_API weft_status weft_get_statistics(weft_statistics* statistics);

/**
 * Whether kernel engines may hand operations of this communicator to the operating system, 1 or 0.
 * Applies to this rank, for operations started from now on. World and self begin with 1; other
 * communicators with the value of the one that they are made from (weft_comm_from_oob: world).
 *
 * Calling   any thread.
 * Returns   WEFT_OK; WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT for another value.
 */
WEFT_API weft_status weft_comm_set_offload(weft_comm comm, int offload);

#ifdef __cplusplus
}
#endif

#endif
