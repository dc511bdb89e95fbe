/* Schedules that the program builds: operations and their dependencies, run in the background. */
#ifndef WEFT_SCHEDULE_H
#define WEFT_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "weft/comm.h"
#include "weft/export.h"
#include "weft/request.h"
#include "weft/status.h"
#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One rank's part in a communication that the program designs: a graph of operations.
 *
 * It is open at first, and calls add operations to it. Each starts at once, or after those that
 * weft_schedule_after names. When it is sealed, weft_schedule_init binds it to buffers: that gives
 * a persistent request like any collective's. Every rank of the communicator makes its own
 * schedule, possibly an empty one.
 *
 * Messages between two ranks match in the order in which the two schedules add them. Unordered
 * operations may run at the same time; weft_schedule_check finds those that conflict.
 */
typedef struct weft_schedule_handle* weft_schedule;

#define WEFT_SCHEDULE_NULL ((weft_schedule)0)

/**
 * An operation of a schedule. Sentences number them from 0, in the order in which they were added.
 */
typedef uint64_t weft_node;

/** As a predecessor: none. */
#define WEFT_NODE_NONE ((weft_node)0)

/** Where a region lies. */
typedef enum weft_buffer WEFT_ANY_INT {
    WEFT_SEND_BUFFER = 0, /* given to weft_schedule_init; only read */
    WEFT_RECV_BUFFER = 1, /* given to weft_schedule_init; read and written */
    WEFT_SCRATCH = 2      /* each request has its own; undefined at every start */
} weft_buffer;

/** `bytes` of a buffer from `offset` on. A region of zero bytes may lie anywhere. */
typedef struct weft_region {
    weft_buffer buffer;
    int64_t offset;
    int64_t bytes;
} weft_region;

/**
 * A function of the program as an operation: may read and write the `bytes` at `data`.
 *
 * It runs in whichever thread advances operations: the progress thread, or one that waits or tests;
 * never in a start. Other threads may start, test and wait during it, and then advance all other
 * operations, other functions included. If the communicator breaks while it runs, the operation
 * ends when it has returned. It must not call Weft: starts, waits, constructors and frees are
 * refused with WEFT_REFUSED_STATE. But if its request was started in a fiber (weft/fiber.hpp), it
 * runs in a fiber of the same thread, and may call Weft and wait; not for its own request, nor on
 * the schedule's communicator (docs/fibers.md). If it throws an exception, or ends its thread
 * (pthread_exit), the communicator breaks with WEFT_BROKEN_FUNCTION, on all ranks. (In a fiber it
 * must not end its thread.) It begins in the default state of floating-point arithmetic; its stack
 * is that of a weft_op_function. `context` is the one given to weft_schedule_call.
 */
typedef void (*weft_schedule_function)(void* data, size_t bytes, void* context);

/**
 * Make an open schedule without operations. The communicator may be freed before the schedule.
 *
 * Calling   any thread. Local.
 * Returns   WEFT_OK. WEFT_REFUSED_*: *schedule untouched.
 */
WEFT_API weft_status weft_schedule_create(weft_comm comm, weft_schedule* schedule);

/**
 * Free a schedule; *schedule becomes WEFT_SCHEDULE_NULL. Its requests stay valid. weft_finalize
 * frees schedules that are left.
 *
 * Calling   any thread. Local.
 * Returns   WEFT_OK. WEFT_REFUSED_HANDLE: null, or already freed.
 */
WEFT_API weft_status weft_schedule_free(weft_schedule* schedule);

/* --- Operations of an open schedule ---------------------------------------------------------- */

/**
 * Take `bytes` of scratch, aligned to 64 bytes.
 *
 * Calling   any thread, one at a time per schedule. Local.
 * Returns   WEFT_OK: *region is all of it. WEFT_REFUSED_*: nothing taken, *region untouched.
 */
WEFT_API weft_status weft_schedule_scratch(weft_schedule schedule, int64_t bytes,
                                           weft_region* region);

/**
 * Send a region to `peer`, another rank of the schedule's communicator.
 *
 * Agree     the k-th send to a rank and that rank's k-th receive from this one have the same number
 *           of bytes. Otherwise the request fails with WEFT_BROKEN_MESSAGE, or never completes.
 * Calling   any thread, one at a time per schedule. Local.
 * Returns   WEFT_OK: added; *node names it, unless `node` is null. WEFT_REFUSED_*: nothing added,
 *           *node untouched.
 */
WEFT_API weft_status weft_schedule_send(weft_schedule schedule, weft_region from, int peer,
                                        weft_node* node);

/** Receive a region from `peer`. Agree, Calling and Returns as weft_schedule_send. */
WEFT_API weft_status weft_schedule_recv(weft_schedule schedule, weft_region into, int peer,
                                        weft_node* node);

/**
 * Copy: into = from. The regions have the same number of bytes and do not overlap. Calling and
 * Returns as weft_schedule_send.
 */
WEFT_API weft_status weft_schedule_copy(weft_schedule schedule, weft_region from, weft_region into,
                                        weft_node* node);

/**
 * Reduce: into = from (op) into, with the operation that weft_schedule_init binds.
 * Shapes, Calling and Returns as weft_schedule_copy.
 */
WEFT_API weft_status weft_schedule_reduce(weft_schedule schedule, weft_region from,
                                          weft_region into, weft_node* node);

/**
 * Reduce: into = into (op) from; `from` is undefined afterwards.
 * Shapes, Calling and Returns as weft_schedule_copy.
 */
WEFT_API weft_status weft_schedule_reduce_right(weft_schedule schedule, weft_region from,
                                                weft_region into, weft_node* node);

/**
 * Call `function` with the region and `context`; the region may have zero bytes. The function may
 * touch other memory, but weft_schedule_check knows only the region. Calling and Returns as
 * weft_schedule_send.
 */
WEFT_API weft_status weft_schedule_call(weft_schedule schedule, weft_region data,
                                        weft_schedule_function function, void* context,
                                        weft_node* node);

/**
 * Do nothing: completes when its predecessors have, and stands for all of them.
 * Calling and Returns as weft_schedule_send.
 */
WEFT_API weft_status weft_schedule_join(weft_schedule schedule, weft_node* node);

/**
 * Let `node` start only when `predecessor` has completed. WEFT_NODE_NONE: changes nothing.
 *
 * A send has completed when its region may be written again. A message starts after all earlier
 * ones to (or from) the same peer have started, so none of these may wait for it.
 *
 * Calling   any thread, one at a time per schedule. Local.
 * Returns   WEFT_OK. WEFT_REFUSED_HANDLE: not a node of this schedule. WEFT_REFUSED_STATE: sealed.
 */
WEFT_API weft_status weft_schedule_after(weft_schedule schedule, weft_node node,
                                         weft_node predecessor);

/**
 * End building. The schedule can no longer change.
 *
 * Calling   any thread, one at a time per schedule. Local.
 * Returns   WEFT_OK. WEFT_REFUSED_ARGUMENT: operations wait for each other in a cycle; the schedule
 *           stays open. WEFT_REFUSED_STATE: already sealed.
 */
WEFT_API weft_status weft_schedule_seal(weft_schedule schedule);

/* --- A sealed schedule ----------------------------------------------------------------------- */

/**
 * Prove, from the schedules of all ranks and without moving data, that every send meets a receive
 * of equal size, that all operations complete even if no message is buffered, and that unordered
 * operations never touch the same bytes while one of them writes.
 *
 * The check does not know the intended result. It cannot detect a contribution that is missing or
 * counted twice, operands in the wrong order for an operation that does not commute, a buffer that
 * is not filled, or accesses of weft_schedule_call's functions outside their region. To find
 * these, compare the results of runs.
 *
 * Agree     every rank calls it, with its sealed schedule on the same communicator, in the same
 *           order among the operations of that communicator.
 * Calling   any thread, one at a time per communicator; collective, returns when all have called.
 * Cost      every rank gets all ranks' schedules; meant for development.
 * Returns   the same on every rank. WEFT_OK: proved. WEFT_REFUSED_ARGUMENT: the detail names the
 *           operations, as "hazard: operation 0 of rank 1 (recv recv[0..8) <- rank 0) and ...".
 *           WEFT_BROKEN_*: the communicator is broken (WEFT_BROKEN_TIMEOUT: see weft_barrier).
 *           On this rank alone, before anything is sent: WEFT_REFUSED_STATE: the schedule is open.
 */
WEFT_API weft_status weft_schedule_check(weft_schedule schedule);

/**
 * Make an inactive persistent request of a sealed schedule. The calls of weft/request.h start,
 * complete and free it; it outlives the schedule's handle. A schedule may have many requests.
 *
 * Shapes    send_buf and recv_buf hold all regions in them; null if there are none. `type` and `op`
 *           are those of all reductions, whose regions are whole elements of `type` at offsets that
 *           are multiples of its alignment; WEFT_OP_NULL if there are none.
 * Lent      both buffers, from each start until its completion.
 * Agree     every rank calls it, in the same order among all calls that make persistent requests on
 *           the communicator, and starts each request the same number of times.
 * Calling   any thread, one at a time per communicator. Local.
 * Cost      allocates; starts of the request do not.
 * Returns   WEFT_OK. WEFT_REFUSED_*, WEFT_BROKEN_*: nothing made, *request untouched.
 *           Failures after a start come from tests and waits.
 * Undefined the buffers' contents after a start, if weft_schedule_check would find a hazard.
 */
WEFT_API weft_status weft_schedule_init(weft_schedule schedule, const void* send_buf,
                                        void* recv_buf, weft_type type, weft_op op,
                                        weft_request* request);

#ifdef __cplusplus
}
#endif

#endif
