/*
 * A call of any collective as one record, for bindings of other languages and for programs that
 * choose the collective at run time. The functions of weft/collective.h are short forms of it.
 */
#ifndef WEFT_CALL_H
#define WEFT_CALL_H

#include <stddef.h>

#include "weft/collective.h"
#include "weft/comm.h"
#include "weft/export.h"
#include "weft/request.h"
#include "weft/status.h"
#include "weft/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The data that a rank sends, or that it receives. */
typedef struct weft_side {
    void* data;                     /* or WEFT_IN_PLACE; what is sent is only read */
    size_t count;                   /* elements of a block, if all blocks have the same size */
    const size_t* counts;           /* v and w forms: elements of each block */
    const ptrdiff_t* displacements; /* v and w forms: in elements (w: bytes); null: contiguous */
    weft_type type;                 /* of the elements */
    const weft_type* types;         /* w forms: of the elements of each block */
} weft_side;

/**
 * A call of a collective. What the collective, or this rank's part in it, does not use is ignored:
 * the send buffer of a broadcast, the receive buffer of a gather except on the root, and so on. Set
 * all of it to zero first.
 *
 * The counts of a reduce_scatter are `send.counts`.
 */
typedef struct weft_call {
    weft_collective collective;
    weft_op op;
    int root;
    weft_side send;
    weft_side recv;
} weft_call;

/** How a call is made. */
typedef enum weft_form WEFT_ANY_INT {
    WEFT_NONBLOCKING = 0, /* starts it, as weft_ibcast */
    WEFT_BLOCKING = 1,    /* starts it and waits for it, as weft_bcast; `request` is ignored */
    WEFT_PERSISTENT = 2   /* makes an inactive persistent request, as weft_bcast_init */
} weft_form;

/**
 * Make a call of any collective.
 *
 * Shapes    as the function of that name in weft/collective.h. If a rank both sends and receives
 *           blocks of one size, both counts and the sizes of both types must be the same.
 * In place  as that function.
 * Lent      as that function; *call and its arrays may be changed once this returns.
 * Agree     as that function. Ranks may mix this one and that function.
 * Calling   as that function.
 * Returns   as that function. WEFT_REFUSED_ARGUMENT also for an unknown collective or form.
 */
WEFT_API weft_status weft_start_call(const weft_call* call, weft_form form, weft_comm comm,
                                     weft_request* request);

#ifdef __cplusplus
}
#endif

#endif
