/* The status codes of all Weft calls, and the sentence that explains the last failure. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include "weft/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The result of a call.
 *
 *   0            done
 *   positive     not yet; no error
 *   -1 ... -99   refused: the caller's mistake; nothing happened
 *   <= -100      broken: the world failed; the object can only be freed
 */
typedef enum weft_status WEFT_ANY_INT {
    WEFT_OK = 0,

    WEFT_PENDING = 1,     /* the operation has not completed */
    WEFT_INTERRUPTED = 3, /* a wait returned early because of weft_interrupt() */
    WEFT_TIMED_OUT = 4, /* a wait's deadline has passed; weft_last_detail() names the late ranks */

    WEFT_REFUSED_ARGUMENT = -1,    /* an argument is out of range; weft_last_detail() names it */
    WEFT_REFUSED_HANDLE = -2,      /* a handle is null, freed or not of this process */
    WEFT_REFUSED_STATE = -3,       /* not now: before weft_init, after weft_finalize, ... */
    WEFT_REFUSED_OUTSTANDING = -4, /* operations are still pending */
    WEFT_REFUSED_SETTING = -5,     /* a WEFT_* setting is malformed or differs between ranks */
    WEFT_REFUSED_MEMORY = -6,      /* out of memory or descriptors; nothing has happened */
    WEFT_REFUSED_UNSUPPORTED = -7, /* this build or machine cannot do it */

    WEFT_BROKEN_RANK = -100,    /* a rank died or left */
    WEFT_BROKEN_MESSAGE = -101, /* a peer sent something that does not match this call */
    /* A rank can no longer be reached: its host is dead or the link to it is cut (no answer within
       WEFT_PEER_TIMEOUT), or it sent bytes that cannot be Weft's; the detail says which. If no rank
       is named, from weft_init: the operating system failed. */
    WEFT_BROKEN_TRANSPORT = -102,
    /* WEFT_TIMEOUT ended a blocking collective or constructor; the detail names a late rank */
    WEFT_BROKEN_TIMEOUT = -103,
    /* A rank ran out of memory or descriptors after a start, or there is no descriptor for the
       connection to it; the detail names the rank. Other communicators go on. */
    WEFT_BROKEN_MEMORY = -104,
    /*
     * A function of the program (weft_op_create, weft_schedule_call) threw an exception; the detail
     * names the rank. Other communicators go on.
     */
    WEFT_BROKEN_FUNCTION = -105,
    /* weft_comm_abort; the detail names the rank and its reason. Other communicators go on. */
    WEFT_BROKEN_ABORT = -106
} weft_status;

/**
 * The name of a status, for messages: "WEFT_REFUSED_ARGUMENT".
 *
 * Calling   any thread, any time, even before weft_init.
 * Returns   a static string; "WEFT_UNKNOWN_STATUS" for a value outside the enumeration.
 */
WEFT_API const char* weft_status_name(weft_status status);

/**
 * The sentence behind the calling thread's last status that was neither WEFT_OK nor WEFT_PENDING.
 *
 * Example   "root = 9; expected 0..7 (weft_ibcast)"
 * Calling   any thread, any time. The string is valid until this thread's next Weft call.
 * Returns   never null; "" if nothing has gone wrong in this thread.
 */
WEFT_API const char* weft_last_detail(void);

#ifdef __cplusplus
}
#endif

#endif
