/* Requests: operations that were started, and how they complete. */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include <stddef.h>

#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A started operation. It becomes WEFT_REQUEST_NULL when test or wait completes it. */
typedef struct weft_request_handle* weft_request;

#define WEFT_REQUEST_NULL ((weft_request)0)

/**
 * Has *request completed? Advances pending operations on the way.
 *
 * Calling   any thread, not necessarily the one that started it. Does not block.
 * Returns   WEFT_OK: completed; *request is now WEFT_REQUEST_NULL and the buffers are the caller's.
 *           WEFT_PENDING: not yet. WEFT_OK also for WEFT_REQUEST_NULL.
 *           WEFT_REFUSED_HANDLE: not a request, or completed before.
 *           WEFT_BROKEN_*: failed (the detail names the rank); *request is now WEFT_REQUEST_NULL
 *           and the buffers are the caller's, contents of receive buffers undefined.
 * Source    MPI-5.0 section 3.7.3
 */
WEFT_API weft_status weft_test(weft_request* request);

/**
 * Return when *request has completed. Spins briefly, then sleeps: a long wait takes no CPU time.
 *
 * Calling   any thread.
 * Returns   as weft_test, never WEFT_PENDING. WEFT_INTERRUPTED: weft_interrupt() was called;
 *           *request is still pending.
 * Source    MPI-5.0 section 3.7.3
 */
WEFT_API weft_status weft_wait(weft_request* request);

/**
 * Return when all `count` requests have completed. Null requests count as completed.
 *
 * Shapes    requests [count]; statuses [count], or null when only the worst is of interest.
 * Calling   any thread.
 * Returns   WEFT_OK when every request completed well; otherwise the first status that is not
 *           WEFT_OK in array order, after all have ended. WEFT_INTERRUPTED: some are still pending.
 *           WEFT_REFUSED_HANDLE: nothing was waited for.
 * Source    MPI-5.0 section 3.7.5
 */
WEFT_API weft_status weft_waitall(size_t count, weft_request* requests, weft_status* statuses);

/**
 * Make the wait in progress return WEFT_INTERRUPTED; when none is in progress, the next one that
 * would block. For signal handlers: a program that must react to Ctrl-C calls it there.
 *
 * Calling   any thread, and from signal handlers (async-signal-safe).
 */
WEFT_API void weft_interrupt(void);

#ifdef __cplusplus
}
#endif

#endif
