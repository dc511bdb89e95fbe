/* Communicators over processes that another library has brought together already: functions of that
   library, through which the ranks find each other, and if need be send all their messages. For an MPI
   they are made by weft/mpi.h. */
#ifndef WEFT_CARRIER_H
#define WEFT_CARRIER_H

#include <stddef.h>

#include "weft/comm.h"
#include "weft/export.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A group of processes that can talk to each other, and how. The functions answer 0, or an error of
 * the library's own.
 *
 * The functions after `allgather` are for WEFT_TRANSPORT=mpi, and null where there are none: a channel
 * of messages between the processes of the group, which interferes with nothing else. A request takes
 * `request_bytes` bytes, which Weft keeps, also in arrays; a request that has ended is never tested
 * again, unless it was used anew.
 */
typedef struct weft_carrier {
    size_t struct_bytes; /* sizeof(weft_carrier) in the program */
    void* context;       /* of allgather and open; used only during the call */
    int rank;            /* of the calling process in the group */
    int ranks;

    /* Gathers `bytes` bytes of every process into all[ranks][bytes], by rank. Blocks. */
    int (*allgather)(void* context, const void* mine, void* all, int bytes);

    int any_thread; /* not 0: the functions below may be called by any thread, at any time */
    size_t request_bytes;
    /* Makes the channel. Collective; blocks. */
    int (*open)(void* context, void** channel);
    /* Sends to process `to`, receives from whoever sends: at most `bytes`. Messages of one process are
       received in the order of their sends, by receives in their order. */
    int (*send)(void* channel, const void* data, int bytes, int to, void* request);
    int (*receive)(void* channel, void* data, int bytes, void* request);
    /* Which of `count` requests have ended: their indices, and in *ended how many. Does not block.
       Requests that were told before are passed over. */
    int (*test_some)(void* channel, int count, void* requests, int* ended, int* indices);
    /* Gives up `count` receives and ends the channel. */
    int (*close)(void* channel, int count, void* requests);
} weft_carrier;

/**
 * Make a communicator of the processes of `carrier`, by their ranks there. It is one as any other:
 * its ranks use shm and tcp between them, unless WEFT_TRANSPORT=mpi.
 *
 * Before weft_init this joins the job, as weft_init does: the group is the job then, and
 * weft_comm_world its ranks. Later, and after weft_init, it makes a communicator of ranks of the job,
 * of all or of some.
 *
 * Agree     the WEFT_* settings that shape messages, and the Weft version, are the same on every rank.
 * Calling   one thread, collective over the group; blocks until every process of it has called it. A
 *           process that ends or fails meanwhile is what the carrying library makes of it.
 * Returns   WEFT_OK: *comm is the communicator; weft_comm_free frees it.
 *           WEFT_REFUSED_ARGUMENT: a null or unknown kind of `carrier`, or a null `comm`.
 *           WEFT_REFUSED_STATE: Weft was finalized in a process of the group, or has been initialized
 *           in some of them and not in others, or they are not of one job. Refused on every rank.
 *           WEFT_REFUSED_UNSUPPORTED: a function of the carrier failed; or WEFT_ENGINE=thread with
 *           WEFT_TRANSPORT=mpi and a carrier for one thread.
 *           WEFT_REFUSED_SETTING, WEFT_REFUSED_MEMORY, WEFT_BROKEN_*: as weft_init.
 *           *comm is untouched unless WEFT_OK.
 */
WEFT_API weft_status weft_comm_from_carrier(const weft_carrier* carrier, weft_comm* comm);

#ifdef __cplusplus
}
#endif

#endif
