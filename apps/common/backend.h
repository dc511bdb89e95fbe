/* What carries out an application's collectives: Weft, or an MPI. Both take a call as weft/call.h describes it. */
#ifndef WEFT_APPS_COMMON_BACKEND_H
#define WEFT_APPS_COMMON_BACKEND_H

#include "weft/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A failed call ends the process with a sentence. */
typedef struct apps_backend {
    void (*open)(int* rank, int* ranks);
    /* Arranges all ranks as a grid, for the neighbor collectives that follow. */
    void (*cart)(int ndims, const int* dims, const int* periods);
    void* (*start)(const weft_call* call); /* the nonblocking function; returns the request */
    void (*call)(const weft_call* call);   /* the blocking one */
    int (*test)(void* request);            /* 1: complete, and the request is freed */
    void (*wait)(void* request);           /* frees the request */
    void (*close)(void);
} apps_backend;

/* The only symbol of an MPI's part (mpi_part.c). */
extern const apps_backend apps_mpi;

#ifdef __cplusplus
}
#endif

#endif
