/* One place that calls all collectives, in all their forms. */
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

const char* const function_names[FUNCTIONS] = {"barrier",
                                               "bcast",
                                               "gather",
                                               "gatherv",
                                               "scatter",
                                               "scatterv",
                                               "allgather",
                                               "allgatherv",
                                               "alltoall",
                                               "alltoallv",
                                               "alltoallw",
                                               "reduce",
                                               "allreduce",
                                               "reduce_scatter",
                                               "reduce_scatter_block",
                                               "scan",
                                               "exscan",
                                               "neighbor_allgather",
                                               "neighbor_allgatherv",
                                               "neighbor_alltoall",
                                               "neighbor_alltoallv",
                                               "neighbor_alltoallw"};
const char* const form_names[FORMS] = {"nonblocking", "persistent", "blocking"};

int is_reduction(Function function) { return function >= REDUCE && function <= EXSCAN; }
int is_neighbor(Function function) { return function >= NEIGHBOR_ALLGATHER; }
int is_rooted(Function function) {
    return (function >= BCAST && function <= SCATTERV) || function == REDUCE;
}
int has_in_place(Function function) { return function > BCAST && !is_neighbor(function); }

#if HAS_PERSISTENT
#define INIT(call) call
#else
#define INIT(call) MPI_ERR_UNSUPPORTED_OPERATION
#endif

/* An array of arguments, which lives as long as the operation. */
static void* copied(Case* of, size_t bytes) {
    void* array = malloc(bytes);
    of->arrays[of->arrays_count] = array;
    of->array_bytes[of->arrays_count++] = bytes;
    return array;
}

#define CALL_IT call_it
#define COUNT int
#define DISPL int
#define L
#include "calls_body.h"

#if !HAS_LARGE
#define FIND(capital, small)                                   \
    extern int MPI_I##small##_c() __attribute__((weak));       \
    extern int MPI_##capital##_init_c() __attribute__((weak)); \
    extern int MPI_##capital##_c() __attribute__((weak));
FIND(Bcast, bcast)
FIND(Gather, gather)
FIND(Gatherv, gatherv)
FIND(Scatter, scatter)
FIND(Scatterv, scatterv)
FIND(Allgather, allgather)
FIND(Allgatherv, allgatherv)
FIND(Alltoall, alltoall)
FIND(Alltoallv, alltoallv)
FIND(Alltoallw, alltoallw)
FIND(Reduce, reduce)
FIND(Allreduce, allreduce)
FIND(Reduce_scatter, reduce_scatter)
FIND(Reduce_scatter_block, reduce_scatter_block)
FIND(Scan, scan)
FIND(Exscan, exscan)
FIND(Neighbor_allgather, neighbor_allgather)
FIND(Neighbor_allgatherv, neighbor_allgatherv)
FIND(Neighbor_alltoall, neighbor_alltoall)
FIND(Neighbor_alltoallv, neighbor_alltoallv)
FIND(Neighbor_alltoallw, neighbor_alltoallw)
#endif

int has_large(void) {
#if HAS_LARGE
    return 1;
#else
    return MPI_Ibcast_c != NULL;
#endif
}

#define CALL_IT call_it_large
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define L _c
#include "calls_body.h"

int call_case(Case* of) {
    of->arrays_count = 0;
    if (of->spec.large && of->spec.function != BARRIER) return call_it_large(of);
    return call_it(of);
}
