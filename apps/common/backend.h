/* What carries out an application's collectives: Weft, or an MPI. Both take a call as weft/call.h describes it. */
#ifndef WEFT_APPS_COMMON_BACKEND_H
#define WEFT_APPS_COMMON_BACKEND_H

#include "weft/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Groups of ranks have numbers, in the order in which they were made; 0: all ranks. A failed call ends the process with a
   sentence. */
typedef struct apps_backend {
    void (*open)(int* rank, int* ranks);
    /* The ranks that give the same color, in their order. */
    int (*split)(int group, int color, int* rank, int* ranks);
    /* The same ranks as a grid, for neighbor collectives. */
    int (*cart)(int group, int ndims, const int* dims, const int* periods);
    void* (*start)(const weft_call* call,
                   int group); /* the nonblocking function; returns the request */
    void (*call)(const weft_call* call, int group); /* the blocking one */
    int (*test)(void* request);                     /* 1: complete, and the request is freed */
    void (*wait)(void* request);                    /* frees the request */
    void (*close)(void);
} apps_backend;

enum { apps_groups_max = 16 };

/* The only symbol of an MPI's part (mpi_part.c). */
extern const apps_backend apps_mpi;

#ifdef __cplusplus
}
#endif

#endif
