/* What nbc.c has in its second unit. */
#ifndef NBC_UNIT_H
#define NBC_UNIT_H

#include <nbc.h>

int bcast_of_another_unit(int* number, NBC_Handle* handle);
void sum_of_ints(void* in, void* inout, int* count, MPI_Datatype* type);
/* Zeroes what lies between the members of pairs: nobody says what a reduction leaves there. */
void clear_gaps(MPI_Datatype type, unsigned char* bytes);

#endif
