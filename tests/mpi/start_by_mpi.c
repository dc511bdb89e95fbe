/* Loaded before a program of Weft's tests: where that calls weft_init it starts MPI and joins by
   weft_comm_from_mpi, so that the same program tests both. MPI_LEVEL=multiple asks for that thread
   level. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/mpi.h"
#include "weft/weft.h"

weft_status weft_init(void) {
    const char* level = getenv("MPI_LEVEL");
    int multiple = level != NULL && strcmp(level, "multiple") == 0;
    int provided = 0;
    weft_comm comm = WEFT_COMM_NULL;
    weft_status status;
    MPI_Init_thread(NULL, NULL, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
    if (multiple && provided != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
        exit(1);
    }
    status = weft_comm_from_mpi(MPI_COMM_WORLD, &comm);
    return status == WEFT_OK ? weft_comm_free(&comm) : status;
}

weft_status weft_finalize(void) {
    weft_status (*real)(void);
    weft_status status;
    void* found = dlsym(RTLD_NEXT, "weft_finalize");
    memcpy(&real, &found, sizeof real);
    status = real();
    if (status == WEFT_OK) MPI_Finalize();
    return status;
}
