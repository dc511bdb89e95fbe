/* What the bench asks of an MPI, as functions: part.c, compiled by that MPI's compiler into a library
   that the program `weft` loads in each rank. So one program measures every MPI beside Weft. An MPI
   that fails aborts the job by itself. */
#ifndef WEFT_BENCH_RIVALS_PART_H
#define WEFT_BENCH_RIVALS_PART_H

#include <stddef.h>

#include "weft/oob.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The buffers of one rank. */
typedef struct weft_rival_data {
    const void* send;
    void* recv;
    size_t bytes;    /* of one block */
    size_t elements; /* float64, of a reduction */
} weft_rival_data;

typedef void (*weft_rival_function)(const weft_rival_data* data);

typedef struct weft_rival_collective {
    const char* name; /* "ibcast" */
    weft_rival_function start;
    weft_rival_function call; /* the blocking one */
} weft_rival_collective;

typedef weft_status (*weft_rival_from_oob)(const weft_oob* oob, weft_comm* comm);

typedef struct weft_rival_part {
    /* MPI_Init_thread, with MPI_THREAD_MULTIPLE where threads is not 0. Writes what the MPI calls
       itself. */
    void (*open)(int threads, char* version, size_t length);
    /* weft_comm_from_mpi of MPI_COMM_WORLD, by this function of the program's. */
    weft_status (*join)(weft_rival_from_oob from_oob, weft_comm* comm);
    /* Null for a name that is not known. */
    const weft_rival_collective* (*find)(const char* name);
    /* Of the one operation that was started last. */
    int (*test)(void); /* 1: it has completed */
    void (*wait)(void);
    void (*barrier)(void);
    void (*close)(void);
} weft_rival_part;

/* What the library has for the program. */
extern const weft_rival_part weft_rival;

#ifdef __cplusplus
}
#endif

#endif
