/* Requests: operations, and how they complete. */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * An operation of the program. It is active from its start until a test or wait has completed it.
 *
 * A nonblocking request is started by the call that makes it, and becomes WEFT_REQUEST_NULL when it
 * is completed. A persistent request (weft_allreduce_init, ...) is inactive at first and after each
 * completion; weft_start starts it, weft_request_free frees it. Tests and waits treat null and
 * inactive requests as complete; null ones even before weft_init and after weft_finalize.
 *
 * One thread may complete what another has started. If several wait for the same nonblocking
 * request, one of them gets its outcome, and the others get WEFT_REFUSED_HANDLE.
 */
typedef struct weft_request_handle* weft_request;

#define WEFT_REQUEST_NULL ((weft_request)0)

/** As an index or a number of requests: no request was active. */
#define WEFT_NONE ((size_t)-1)

/* --- Persistent requests --------------------------------------------------------------------- */

/**
 * Start the operation of a persistent request.
 *
 * Agree     every rank starts its matching request the same number of times, in any order.
 * Calling   any thread. Does not block.
 * Cost      allocates nothing.
 * Returns   WEFT_OK: active. WEFT_REFUSED_STATE: it is already active. WEFT_REFUSED_HANDLE: not a
 *           persistent request. WEFT_BROKEN_*: its communicator is broken; it stays inactive.
 *           Failures after the start come from tests and waits.
 * Source    MPI-5.0 section 3.9
 */
WEFT_API weft_status weft_start(weft_request* request);

/**
 * Start `count` persistent requests, in array order: all of them, or none.
 *
 * Returns   as weft_start; the detail names the index. A request named twice is refused.
 * Source    MPI-5.0 section 3.9
 */
WEFT_API weft_status weft_startall(size_t count, weft_request* requests);

/**
 * Free an inactive persistent request; *request becomes WEFT_REQUEST_NULL. Does nothing to a null
 * request. weft_finalize frees requests that are left.
 *
 * Calling   any thread. Local.
 * Returns   WEFT_OK: freed. WEFT_REFUSED_OUTSTANDING: active, persistent or not; nothing changed.
 *           WEFT_REFUSED_HANDLE: not a request.
 * Source    MPI-5.0 section 3.7.3
 */
WEFT_API weft_status weft_request_free(weft_request* request);

/* --- One request ----------------------------------------------------------------------------- */

/**
 * Has *request completed? Also advances pending operations.
 *
 * Calling   any thread, not necessarily the one that started it. Does not block.
 * Returns   WEFT_OK: completed; a nonblocking request is now WEFT_REQUEST_NULL, and the buffers
 *           are the caller's. WEFT_PENDING: not yet. If *request is not active: WEFT_OK.
 *           WEFT_REFUSED_HANDLE: not a request, or completed before.
 *           WEFT_BROKEN_*: failed (the detail names the rank); completed as with WEFT_OK, but the
 *           contents of receive buffers are undefined.
 * Source    MPI-5.0 section 3.7.3
 */
WEFT_API weft_status weft_test(weft_request* request);

/**
 * Return when *request has completed. Spins briefly, then sleeps: a long wait takes no CPU time.
 *
 * While any wait for requests sleeps, its thread may be cancelled (pthread_cancel), unless it runs
 * fibers; nowhere else in Weft. The requests stay, and another thread may wait for them.
 *
 * Calling   any thread.
 * Returns   as weft_test, never WEFT_PENDING. WEFT_INTERRUPTED: weft_interrupt() was called;
 *           *request is still pending. WEFT_TIMED_OUT: WEFT_TIMEOUT, which bounds every wait
 *           without a deadline, has passed; as from weft_wait_until.
 * Source    MPI-5.0 section 3.7.3
 */
WEFT_API weft_status weft_wait(weft_request* request);

/**
 * As weft_wait, but at most until `deadline_ns` on CLOCK_MONOTONIC.
 *
 * Returns   as weft_wait. WEFT_TIMED_OUT: the operation goes on, and nothing is lost;
 *           weft_last_detail() names ranks whose messages have not arrived, or that have not
 *           received this rank's. With a deadline in the past this is a test.
 */
WEFT_API weft_status weft_wait_until(weft_request* request, int64_t deadline_ns);

/* --- Several requests ------------------------------------------------------------------------ */

/**
 * Have all `count` requests completed? Completes all of them or none.
 *
 * Shapes    requests [count]; statuses [count], or null.
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK: all completed successfully. WEFT_PENDING: none was completed, statuses are
 *           untouched. WEFT_BROKEN_*: all completed; the first status in array order that is not
 *           WEFT_OK. WEFT_REFUSED_HANDLE: an entry is not a request; nothing happened. Or a
 *           nonblocking one is named twice, or another thread completed it; the others
 *           have completed.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_testall(size_t count, weft_request* requests, weft_status* statuses);

/**
 * Return when all `count` requests have completed.
 *
 * Shapes    as weft_testall.
 * Calling   any thread.
 * Returns   as weft_testall, never WEFT_PENDING. WEFT_INTERRUPTED, WEFT_TIMED_OUT (see weft_wait):
 *           none was completed.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_waitall(size_t count, weft_request* requests, weft_status* statuses);

/**
 * As weft_waitall, but at most until `deadline_ns` on CLOCK_MONOTONIC.
 *
 * Returns   as weft_waitall. WEFT_TIMED_OUT: as from weft_wait_until; none was completed.
 */
WEFT_API weft_status weft_waitall_until(size_t count, weft_request* requests, weft_status* statuses,
                                        int64_t deadline_ns);

/**
 * Has one of `count` requests completed? Completes the first such request in array order.
 *
 * Shapes    requests [count]; *index: of the completed one, WEFT_NONE if none was active.
 * Calling   any thread. Does not block.
 * Returns   the status of requests[*index]; WEFT_OK if none was active. WEFT_PENDING: none has
 *           completed, *index is WEFT_NONE. WEFT_REFUSED_*: as weft_testall.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_testany(size_t count, weft_request* requests, size_t* index);

/**
 * Return when one of `count` requests has completed.
 *
 * Shapes    as weft_testany.
 * Calling   any thread.
 * Returns   as weft_testany, never WEFT_PENDING. WEFT_INTERRUPTED, WEFT_TIMED_OUT (see weft_wait):
 *           none was completed, *index is WEFT_NONE.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_waitany(size_t count, weft_request* requests, size_t* index);

/**
 * Complete those of `count` requests that have finished.
 *
 * Shapes    requests [count]; *completed: how many, WEFT_NONE if none was active;
 *           indices [count], in array order; statuses [count] like indices, or null.
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK: *completed requests completed successfully. WEFT_PENDING: none, *completed is
 *           0.
 *           WEFT_BROKEN_*: the first status of a completed request that is not WEFT_OK.
 *           WEFT_REFUSED_*: as weft_testall.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_testsome(size_t count, weft_request* requests, size_t* completed,
                                   size_t* indices, weft_status* statuses);

/**
 * Wait until at least one of `count` requests has finished, and complete all that have.
 *
 * Shapes    as weft_testsome.
 * Calling   any thread.
 * Returns   as weft_testsome, never WEFT_PENDING. WEFT_INTERRUPTED, WEFT_TIMED_OUT (see weft_wait):
 *           none was completed, *completed is 0.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_waitsome(size_t count, weft_request* requests, size_t* completed,
                                   size_t* indices, weft_status* statuses);

/**
 * Advance pending operations without completing a request: for a program that waits for something
 * else while it uses the engine `manual` or operations of weft_op_create_confined.
 *
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK: nothing is pending. WEFT_PENDING: operations are, or completed ones still owe
 *           messages to other ranks. WEFT_REFUSED_STATE before weft_init.
 */
WEFT_API weft_status weft_progress(void);

/**
 * Make the wait in progress return WEFT_INTERRUPTED; if there is none, the next wait that would
 * block. For signal handlers, such as that for Ctrl-C.
 *
 * Calling   any thread, and from signal handlers (async-signal-safe).
 */
WEFT_API void weft_interrupt(void);

#ifdef __cplusplus
}
#endif

#endif
