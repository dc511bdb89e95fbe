/* The second unit of nbc.c. */
#include "nbc_unit.h"

int bcast_of_another_unit(int* number, NBC_Handle* handle) {
    return NBC_Ibcast(number, 1, MPI_INT, 0, MPI_COMM_WORLD, handle);
}

void sum_of_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

void clear_gaps(MPI_Datatype type, unsigned char* bytes) {
    int i;
    if (type != MPI_DOUBLE_INT && type != MPI_LONG_INT) return;
    for (i = 0; i < 1000; ++i) memset(bytes + 16 * i + 12, 0, 4);
}
