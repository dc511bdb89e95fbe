/* The functions of an MPI that the bench uses: mpi_part.c, and of an interface over it: nbc_part.c, in which those are null
   that say nothing about collectives; compiled by that MPI's mpicc into a library that the program `weft` loads in each rank. So one program can measure any MPI. An MPI that fails aborts the job itself.

   In a job under `weft preload`, a program's MPI_X are Weft's, and the MPI's own are found by their addresses. */
#ifndef WEFT_BENCH_PLAYER_MPI_PART_H
#define WEFT_BENCH_PLAYER_MPI_PART_H

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

typedef struct weft_rival_collective {
    const char* name; /* "ibcast" */
    void (*start)(const weft_rival_data* data);
    void (*call)(const weft_rival_data* data); /* the blocking one */
} weft_rival_collective;

typedef weft_status (*weft_rival_from_oob)(const weft_oob* oob, weft_comm* comm);

typedef struct weft_rival_part {
    /* MPI_Init_thread; threads not 0: with MPI_THREAD_MULTIPLE. Writes the MPI's version. Returns how many microseconds
       it took. */
    double (*open)(int threads, char* version, size_t length);
    /* weft_comm_from_mpi of MPI_COMM_WORLD, which calls this function of the program. */
    weft_status (*join)(weft_rival_from_oob from_oob, weft_comm* comm);
    /* What follows calls, 0: MPI_X, as any program; 1: the MPI by its addresses; 2: likewise, on a communicator of its
       own, for which the first such call is collective. */
    void (*use)(int whose);
    /* Null for an unknown name. */
    const weft_rival_collective* (*find)(const char* name);
    /* For all operations started since the last one of these returned with everything complete. */
    int (*test)(void); /* 1: complete */
    void (*wait)(void);
    void (*barrier)(void);
    void (*close)(void);
    /* A broadcast of `bytes` at `recv` from rank 0 along the chain of ranks, in segments. All receives are started first;
       each query looks for the first segment that has not come. in_thread not 0: a thread does it, a round for each
       segment, and waits in MPI_Waitany; that needs open() with threads. */
    void (*start_pipeline)(const weft_rival_data* data, size_t segment, int in_thread);
    int (*query_pipeline)(void); /* 1: this rank's part has ended */
    /* Around a member's repetitions: 1, then 0. Collective. May be null. */
    void (*turn)(int begins);
} weft_rival_part;

/* The library's only symbol for the program. */
extern const weft_rival_part weft_rival;

#ifdef __cplusplus
}
#endif

#endif
