/*
 * Sends and receives between two ranks (point to point), with the requests, tests, waits, engines
 * and failures of collectives. They neither wait for collectives nor hold them up.
 */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <stddef.h>

#include "weft/comm.h"
#include "weft/export.h"
#include "weft/request.h"
#include "weft/status.h"
#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest tag. */
#define WEFT_TAG_MAX 8388607

/*
 * The k-th send from one rank to another with a tag meets the k-th receive there of that rank and
 * tag: messages of one tag do not overtake each other, and those of different tags do not hold each
 * other up. Persistent and nonblocking ones meet. A rank may send to itself.
 *
 * A message has as many bytes as its receive: if not, the communicator breaks with
 * WEFT_BROKEN_MESSAGE, and the detail names the sender and both sizes. (Types are not compared.)
 * WEFT_CHECK does not apply.
 */

/**
 * Start sending `count` elements to rank `dest`.
 *
 * Shapes    buf [count] of `type`.
 * Lent      buf is lent until *request completes. That may be before the receive starts, or not:
 *           small messages are buffered while there is room.
 * Calling   any thread. Does not block.
 * Cost      allocates nothing once as many requests were in use before.
 * Returns   WEFT_OK: started. WEFT_REFUSED_ARGUMENT: dest, tag (0..WEFT_TAG_MAX), type, count or
 *           buf; nothing started, *request untouched. WEFT_REFUSED_*, WEFT_BROKEN_*: as those of
 *           collectives. Failures after the start come from weft_test and weft_wait.
 * Undefined writing buf before completion.
 * Source    MPI-5.0 section 3.7.2
 */
WEFT_API weft_status weft_isend(const void* buf, size_t count, weft_type type, int dest, int tag,
                                weft_comm comm, weft_request* request);

/**
 * Start receiving `count` elements from rank `source`.
 *
 * Shapes    buf [count] of `type`.
 * Lent      buf is lent until *request completes.
 * Agree     count * size of type is that of the message.
 * Calling   any thread. Does not block.
 * Cost      as weft_isend.
 * Returns   as weft_isend, of source instead of dest.
 * Undefined touching buf before completion.
 * Source    MPI-5.0 section 3.7.2
 */
WEFT_API weft_status weft_irecv(void* buf, size_t count, weft_type type, int source, int tag,
                                weft_comm comm, weft_request* request);

/**
 * As weft_irecv, from whichever rank has a message with this tag. *source gets the rank before
 * *request completes; null: it is not wanted.
 *
 * Later receives of the tag wait until this one has met a message. If all other ranks of `comm`
 * have left the job, it fails with WEFT_BROKEN_RANK.
 *
 * Lent      buf and *source are lent until *request completes.
 * Cost      more than weft_irecv: the message is not received in place but stored first (if it is
 *           small) or announced first. While it waits, this rank is connected to all ranks of
 *           `comm`, and each arrival of any message leads to a look at all of them.
 * Source    MPI-5.0 section 3.7.2, MPI_ANY_SOURCE
 */
WEFT_API weft_status weft_irecv_any(void* buf, size_t count, weft_type type, int tag, int* source,
                                    weft_comm comm, weft_request* request);

/**
 * Make an inactive persistent request of a send; see weft_start. This is local: the other rank's
 * receive may be persistent or not, and ranks may make such requests in any order.
 *
 * Lent      buf is lent from each start to the completion; what it holds then is sent.
 * Returns   as weft_isend.
 * Source    MPI-5.0 section 3.9
 */
WEFT_API weft_status weft_send_init(const void* buf, size_t count, weft_type type, int dest,
                                    int tag, weft_comm comm, weft_request* request);

/** As weft_send_init, of weft_irecv. */
WEFT_API weft_status weft_recv_init(void* buf, size_t count, weft_type type, int source, int tag,
                                    weft_comm comm, weft_request* request);

/** As weft_send_init, of weft_irecv_any. */
WEFT_API weft_status weft_recv_any_init(void* buf, size_t count, weft_type type, int tag,
                                        int* source, weft_comm comm, weft_request* request);

#ifdef __cplusplus
}
#endif

#endif
