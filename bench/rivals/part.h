/* The functions of an MPI that the bench uses: part.c, compiled by that MPI's compiler into a
   library that the program `weft` loads in each rank. So the same program can compare any MPI with
   Weft.
   An MPI that fails aborts the job itself. */
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
    size_t elements; /* float64 that a rank of a reduction receives */
} weft_rival_data;

typedef void (*weft_rival_function)(const weft_rival_data* data);

typedef struct weft_rival_collective {
    const char* name; /* "ibcast" */
    weft_rival_function start;
    weft_rival_function call; /* the blocking one */
} weft_rival_collective;

typedef weft_status (*weft_rival_from_oob)(const weft_oob* oob, weft_comm* comm);

typedef struct weft_rival_part {
    /* MPI_Init_thread; threads not 0: with MPI_THREAD_MULTIPLE. Writes the MPI's version. */
    void (*open)(int threads, char* version, size_t length);
    /* weft_comm_from_mpi of MPI_COMM_WORLD, which calls this function of the program. */
    weft_status (*join)(weft_rival_from_oob from_oob, weft_comm* comm);
    /* Null for an unknown name. */
    const weft_rival_collective* (*find)(const char* name);
    /* For the operation started last. */
    int (*test)(void); /* 1: it has completed */
    void (*wait)(void);
    void (*barrier)(void);
    void (*close)(void);
    /* A broadcast of `bytes` at `recv` from rank 0 along the chain of ranks, in segments. All receives are started first;
       each query looks for the first segment that has not come. in_thread not 0: a thread does it, a round for each
       segment, and waits in MPI_Waitany; that needs open() with threads. */
    void (*start_pipeline)(const weft_rival_data* data, size_t segment, int in_thread);
    int (*query_pipeline)(void); /* 1: this rank's part has ended */
} weft_rival_part;

/* The library's only symbol for the program. */
extern const weft_rival_part weft_rival;

#ifdef __cplusplus
}
#endif

#endif
