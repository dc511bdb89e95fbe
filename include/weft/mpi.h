/*
 * Weft in a program that uses MPI. Include it where you include mpi.h: the functions below are
 * compiled into your program, against your MPI, so that one build of Weft works with any MPI.
 */
#ifndef WEFT_MPI_H
#define WEFT_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/export.h"
#include "weft/oob.h"

#ifdef __cplusplus
extern "C" {
#endif

static WEFT_INLINE int weft_mpi_allgather(void* context, const void* mine, void* all, int bytes) {
    return MPI_Allgather((void*)mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, *(MPI_Comm*)context);
}

/* The channel is a duplicate of the communicator. */
static WEFT_INLINE int weft_mpi_open(void* context, void** channel) {
    MPI_Comm* comm = (MPI_Comm*)malloc(sizeof *comm);
    int error = comm ? MPI_Comm_dup(*(MPI_Comm*)context, comm) : MPI_ERR_NO_MEM;
    if (error != MPI_SUCCESS) {
        free(comm);
        return error;
    }
    *channel = comm;
    return MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

static WEFT_INLINE int weft_mpi_send(void* channel, const void* data, int bytes, int to,
                                     void* request) {
    return MPI_Isend((void*)data, bytes, MPI_BYTE, to, 0, *(MPI_Comm*)channel,
                     (MPI_Request*)request);
}

static WEFT_INLINE int weft_mpi_receive(void* channel, void* data, int bytes, void* request) {
#ifdef OPEN_MPI
    return MPI_Irecv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, 0, *(MPI_Comm*)channel,
                     (MPI_Request*)request);
#else
    /* Between nodes MPICH 5.0.2 loses receives from any source that are posted ahead. */
    MPI_Message message;
    int has_come = 0;
    int error =
        MPI_Improbe(MPI_ANY_SOURCE, 0, *(MPI_Comm*)channel, &has_come, &message, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
    if (has_come) return MPI_Imrecv(data, bytes, MPI_BYTE, &message, (MPI_Request*)request);
    *(MPI_Request*)request = MPI_REQUEST_NULL;
    return WEFT_MPI_NOTHING;
#endif
}

static WEFT_INLINE int weft_mpi_test_some(void* channel, int count, void* requests, int* ended,
                                          int* indices) {
    int error = MPI_Testsome(count, (MPI_Request*)requests, ended, indices, MPI_STATUSES_IGNORE);
    (void)channel;
    if (*ended == MPI_UNDEFINED) *ended = 0;
    return error;
}

static WEFT_INLINE int weft_mpi_close(void* channel, int count, void* requests) {
    int i, is_over = 0;
    MPI_Finalized(&is_over);
    for (i = 0; i < count && !is_over; ++i) {
        MPI_Request* request = (MPI_Request*)requests + i;
        if (*request == MPI_REQUEST_NULL) continue;
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (!is_over) MPI_Comm_free((MPI_Comm*)channel);
    free(channel);
    return MPI_SUCCESS;
}

/* Warns once if weft run has started an MPI program: its MPI does not know the other ranks. */
static WEFT_INLINE void weft_mpi_warn_of_launcher(void) {
    static int is_told = 0;
    const char* rank = getenv("WEFT_RANK");
    const char* ranks = getenv("WEFT_RANKS");
    int world = 0;
    if (is_told || !rank || !ranks || !getenv("WEFT_STARTUP_FD")) return;
    if (strcmp(rank, "0") != 0 || strcmp(ranks, "1") == 0) return;
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world != 1) return;
    is_told = 1;
    fprintf(
        stderr,
        "weft: weft run has started %s ranks, but each is an MPI job of one rank; start programs "
        "that use MPI with its mpiexec\n",
        ranks);
}

/**
 * Make a Weft communicator of the processes of an MPI communicator, with their ranks there.
 * Otherwise as weft_comm_from_oob. Start the program with the MPI's own mpiexec, not with weft run.
 *
 * Weft does not keep `comm` and no longer needs the MPI afterwards, except with WEFT_TRANSPORT=mpi:
 * then all messages go over the MPI until weft_finalize, which must come before MPI_Finalize.
 *
 * With WEFT_TRANSPORT=mpi, engines with a thread need MPI_THREAD_MULTIPLE; if the MPI provides
 * less, the default engine is `manual`.
 *
 * Agree     as weft_comm_from_oob.
 * Calling   after MPI_Init, one thread, collective over `comm`; blocks.
 * Returns   as weft_comm_from_oob. WEFT_REFUSED_ARGUMENT also for MPI_COMM_NULL.
 * Undefined an intercommunicator; WEFT_TRANSPORT=mpi and MPI_Finalize before weft_finalize.
 */
static WEFT_INLINE weft_status weft_comm_from_mpi(MPI_Comm comm, weft_comm* new_comm) {
    weft_oob oob;
    int level = MPI_THREAD_SINGLE;
    if (comm == MPI_COMM_NULL) return weft_comm_from_oob(NULL, new_comm);
    weft_mpi_warn_of_launcher();
    memset(&oob, 0, sizeof oob);
    MPI_Query_thread(&level);
    MPI_Comm_rank(comm, &oob.rank);
    MPI_Comm_size(comm, &oob.ranks);
    oob.struct_bytes = sizeof oob;
    oob.context = &comm;
    oob.allgather = weft_mpi_allgather;
    oob.mpi.any_thread = level == MPI_THREAD_MULTIPLE;
    oob.mpi.request_bytes = sizeof(MPI_Request);
    oob.mpi.open = weft_mpi_open;
    oob.mpi.send = weft_mpi_send;
    oob.mpi.receive = weft_mpi_receive;
    oob.mpi.test_some = weft_mpi_test_some;
    oob.mpi.close = weft_mpi_close;
    return weft_comm_from_oob(&oob, new_comm);
}

#ifdef __cplusplus
}
#endif

#endif
