/* Completion queues, for programs that wait in their own way: event loops, tasks, coroutines. */
#ifndef WEFT_COMPLETION_H
#define WEFT_COMPLETION_H

#include <stdint.h>

#include "weft/export.h"
#include "weft/request.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Requests that have completed and were marked for this queue (weft_request_notify), oldest first.
 * See docs/waiting.md.
 *
 * A program makes one for each event loop, or for each thread that waits in its own way.
 */
typedef struct weft_completion_queue_handle* weft_completion_queue;

#define WEFT_COMPLETION_QUEUE_NULL ((weft_completion_queue)0)

/**
 * Make a queue. Local.
 *
 * Calling   any thread.
 * Returns   WEFT_OK: *queue is the queue. WEFT_REFUSED_STATE before weft_init;
 *           WEFT_REFUSED_ARGUMENT: a null `queue`; WEFT_REFUSED_MEMORY. *queue is untouched unless
 *           WEFT_OK.
 */
WEFT_API weft_status weft_completion_queue_create(weft_completion_queue* queue);

/**
 * Free a queue, and close its descriptor; *queue becomes WEFT_COMPLETION_QUEUE_NULL. The marks for
 * it are taken away; the requests go on. Does nothing to a null queue. weft_finalize frees queues
 * that are left.
 *
 * Calling   any thread. Local. A thread that waits for the queue gets WEFT_REFUSED_HANDLE.
 * Returns   WEFT_OK. WEFT_REFUSED_HANDLE: not a queue.
 */
WEFT_API weft_status weft_completion_queue_free(weft_completion_queue* queue);

/**
 * A descriptor that is readable while the queue has completions: for epoll, poll or select. It
 * stays the same until the queue is freed. Only ask whether it is readable: do not read, write or
 * close it. It may be readable although the queue is empty; weft_completion_next then returns
 * WEFT_PENDING.
 *
 * From the first call on, a pending request that is marked for the queue counts as waited for: all
 * its messages are handled while the program sleeps, and missing ones are demanded of other
 * ranks. A forked child does not have the descriptor.
 *
 * After a change to an engine without a thread (weft_set_engine), the descriptor is readable while
 * marked requests are pending: weft_completion_next advances them.
 *
 * Calling   any thread.
 * Returns   WEFT_OK: *descriptor is the descriptor. WEFT_REFUSED_UNSUPPORTED: the engine (the
 *           detail names it) has no thread that could make it readable; weft_completion_wait_until
 *           serves every engine. WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT; WEFT_REFUSED_MEMORY:
 *           no descriptor is left.
 */
WEFT_API weft_status weft_completion_fd(weft_completion_queue queue, int* descriptor);

/**
 * Mark an active request: when it has completed, the queue hands out `cookie`. Once: a persistent
 * request is marked again after its next start. A request has one mark; another call replaces it.
 * With WEFT_COMPLETION_QUEUE_NULL the mark is taken away, and the cookie is not handed out any
 * more.
 *
 * If the request has completed already, its cookie is in the queue at once. A test or wait that
 * completes the request takes the mark away.
 *
 * Calling   any thread. Does not block.
 * Cost      allocates nothing.
 * Returns   WEFT_OK. WEFT_REFUSED_STATE: a persistent request that is not active.
 *           WEFT_REFUSED_HANDLE: not a request, or null, or completed before; or not a queue. To
 *           take a mark away, request may be null or inactive.
 */
WEFT_API weft_status weft_request_notify(weft_request request, weft_completion_queue queue,
                                         uint64_t cookie);

/**
 * Take the oldest completion out of the queue. Call it until it returns WEFT_PENDING: the
 * descriptor then is not readable any more. Advances pending operations if the queue is empty.
 *
 * The request itself stays active until a test or a wait, which now returns at once, completes it:
 * it makes the request null or inactive and has the sentence of a failure.
 *
 * Calling   any thread. Does not block.
 * Returns   WEFT_OK: *cookie is that of the mark, and *status the result of a test or wait of the
 *           request.
 *           WEFT_PENDING: the queue is empty. WEFT_REFUSED_HANDLE; WEFT_REFUSED_ARGUMENT.
 *           *cookie and *status are untouched unless WEFT_OK.
 */
WEFT_API weft_status weft_completion_next(weft_completion_queue queue, uint64_t* cookie,
                                          weft_status* status);

/**
 * As weft_completion_next, but wait for a completion, at most until `deadline_ns` on
 * CLOCK_MONOTONIC; INT64_MAX: as long as weft_wait would. Spins briefly, then sleeps, as weft_wait.
 * For every engine; the queue needs no descriptor.
 *
 * Calling   any thread.
 * Returns   as weft_completion_next, never WEFT_PENDING. WEFT_INTERRUPTED: weft_interrupt() was
 *           called.
 *           WEFT_TIMED_OUT: weft_last_detail() names marked requests and the ranks that they wait
 *           for.
 *           WEFT_REFUSED_HANDLE: also if the queue was freed during the call.
 */
WEFT_API weft_status weft_completion_wait_until(weft_completion_queue queue, uint64_t* cookie,
                                                weft_status* status, int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
