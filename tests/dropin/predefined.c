/* Every predefined type combined by every predefined operation, as far as the MPI does it: some go beyond the
   standard. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define ELEMENTS 16
#define BYTES (ELEMENTS * 64)

typedef struct {
    const char* name;
    MPI_Datatype type;
} Predefined;
static Predefined types[96];
static int count_of_types;

static void find_types(void) {
#define NAMED(type) \
    { #type, type }
    const Predefined all[] = {
        NAMED(MPI_CHAR),
        NAMED(MPI_SIGNED_CHAR),
        NAMED(MPI_UNSIGNED_CHAR),
        NAMED(MPI_BYTE),
        NAMED(MPI_WCHAR),
        NAMED(MPI_PACKED),
        NAMED(MPI_SHORT),
        NAMED(MPI_UNSIGNED_SHORT),
        NAMED(MPI_INT),
        NAMED(MPI_UNSIGNED),
        NAMED(MPI_LONG),
        NAMED(MPI_UNSIGNED_LONG),
        NAMED(MPI_LONG_LONG),
        NAMED(MPI_UNSIGNED_LONG_LONG),
        NAMED(MPI_INT8_T),
        NAMED(MPI_INT16_T),
        NAMED(MPI_INT32_T),
        NAMED(MPI_INT64_T),
        NAMED(MPI_UINT8_T),
        NAMED(MPI_UINT16_T),
        NAMED(MPI_UINT32_T),
        NAMED(MPI_UINT64_T),
        NAMED(MPI_AINT),
        NAMED(MPI_OFFSET),
        NAMED(MPI_COUNT),
        NAMED(MPI_C_BOOL),
        NAMED(MPI_CXX_BOOL),
        NAMED(MPI_FLOAT),
        NAMED(MPI_DOUBLE),
        NAMED(MPI_LONG_DOUBLE),
        NAMED(MPI_C_FLOAT_COMPLEX),
        NAMED(MPI_C_DOUBLE_COMPLEX),
        NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
        NAMED(MPI_CXX_FLOAT_COMPLEX),
        NAMED(MPI_CXX_DOUBLE_COMPLEX),
        NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
        NAMED(MPI_FLOAT_INT),
        NAMED(MPI_DOUBLE_INT),
        NAMED(MPI_LONG_INT),
        NAMED(MPI_SHORT_INT),
        NAMED(MPI_2INT),
        NAMED(MPI_LONG_DOUBLE_INT),
        NAMED(MPI_CHARACTER),
        NAMED(MPI_LOGICAL),
        NAMED(MPI_INTEGER),
        NAMED(MPI_INTEGER1),
        NAMED(MPI_INTEGER2),
        NAMED(MPI_INTEGER4),
        NAMED(MPI_INTEGER8),
        NAMED(MPI_REAL),
        NAMED(MPI_REAL4),
        NAMED(MPI_REAL8),
        NAMED(MPI_DOUBLE_PRECISION),
        NAMED(MPI_COMPLEX),
        NAMED(MPI_DOUBLE_COMPLEX),
        NAMED(MPI_2INTEGER),
        NAMED(MPI_2REAL),
        NAMED(MPI_2DOUBLE_PRECISION),
#ifdef MPI_INTEGER16
        NAMED(MPI_INTEGER16),
#endif
#ifdef MPI_REAL2
        NAMED(MPI_REAL2),
#endif
#ifdef MPI_REAL16
        NAMED(MPI_REAL16),
#endif
#ifdef MPI_COMPLEX4
        NAMED(MPI_COMPLEX4),
#endif
#ifdef MPI_COMPLEX8
        NAMED(MPI_COMPLEX8),
#endif
#ifdef MPI_COMPLEX16
        NAMED(MPI_COMPLEX16),
#endif
#ifdef MPI_COMPLEX32
        NAMED(MPI_COMPLEX32),
#endif
#ifdef MPI_LOGICAL1
        NAMED(MPI_LOGICAL1),
#endif
#ifdef MPI_LOGICAL2
        NAMED(MPI_LOGICAL2),
#endif
#ifdef MPI_LOGICAL4
        NAMED(MPI_LOGICAL4),
#endif
#ifdef MPI_LOGICAL8
        NAMED(MPI_LOGICAL8),
#endif
#ifdef MPIX_C_FLOAT16
        NAMED(MPIX_C_FLOAT16),
#endif
    }; /* (Products of MPIX_BFLOAT16 end MPICH 5.0.2 by an assertion.) */
    int i, bytes;
    count_of_types = 0;
    for (i = 0; i < (int)(sizeof all / sizeof *all); ++i) {
        if (all[i].type == MPI_DATATYPE_NULL) continue;
        if (MPI_Type_size(all[i].type, &bytes) == MPI_SUCCESS && bytes > 0)
            types[count_of_types++] = all[i];
    }
}

/* Bytes of a rank that make small numbers of most types, and no overflow of sums. */
static void fill(char* at, const Predefined* of, MPI_Aint extent, int rank, int operation) {
    const int is_truth = strstr(of->name, "BOOL") || strstr(of->name, "LOGICAL");
    const int is_logical = operation >= LAND && operation <= LXOR;
    long i;
    for (i = 0; i < ELEMENTS * extent; ++i) {
        at[i] = (char)(mixed((Word)(i + 1), (Word)(rank + 5 * operation)) >> 20 & 0x3f);
        if (is_truth) at[i] = (char)(i % extent == 0 ? at[i] & 1 : 0);
        if (is_logical && i < ELEMENTS / 2 * extent && (i / extent + rank) % 2) at[i] = 0;
    }
}

static int is_real(const char* name) {
    return strstr(name, "FLOAT") || strstr(name, "DOUBLE") || strstr(name, "REAL");
}

/* What is left of it without gaps. */
static int packed(const char* elements, MPI_Datatype type, char* into) {
    int position = 0;
    CALL(MPI_Pack(elements, ELEMENTS, type, into, BYTES, &position, MPI_COMM_SELF));
    return position;
}

/* At one or two ranks, where no association order can matter. Prints how many the MPI refuses. */
static void predefined_reductions(void) {
    static char in[2][BYTES], out[BYTES], mine[BYTES], wanted[BYTES];
    int t, operation, refused = 0;
    if (world_ranks > 2) fail(__FILE__, __LINE__, "more than two ranks");
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    find_types();
    for (t = 0; t < count_of_types; ++t) {
        const Predefined* of = &types[t];
        MPI_Aint lb, extent;
        CALL(MPI_Type_get_extent(of->type, &lb, &extent));
        for (operation = 0; operation < USER_SUM; ++operation) {
            const MPI_Op op = make_operation(NULL, (Operation)operation, 0);
            MPI_Request request;
            int rank;
            for (rank = 0; rank < 2; ++rank) fill(in[rank], of, extent, rank, operation);
            memset(out, 0, sizeof out);
            doing("%s of %s", operation_names[operation], of->name);
            if (MPI_Iallreduce(in[world_rank], out, ELEMENTS, of->type, op, MPI_COMM_WORLD,
                               &request) != MPI_SUCCESS) {
                ++refused;
                continue;
            }
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            /* Some bits of these are no number; and two functions of Intel MPI do not agree. */
            if (strstr(of->name, "LONG_DOUBLE")) continue;
            if (operation >= LAND && operation <= LXOR && is_real(of->name)) continue;
            if (world_ranks == 2)
                CALL(MPI_Reduce_local(in[0], in[1], ELEMENTS, of->type, op));
            else
                memcpy(in[1], in[0], sizeof in[0]);
            CHECK(packed(out, of->type, mine) == packed(in[1], of->type, wanted));
            CHECK(!memcmp(mine, wanted, (size_t)packed(in[1], of->type, wanted)));
        }
    }
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    if (world_rank == 0) printf("refused %d of %d\n", refused, count_of_types * USER_SUM);
}

/* --- Those that Weft combines without the MPI ---------------------------------------------------- */

/* Small numbers; everything between them is zero. */
static void fill_numbers(char* at, MPI_Datatype type, int rank) {
    MPI_Aint lb, extent;
    int i;
    CALL(MPI_Type_get_extent(type, &lb, &extent));
    memset(at, 0, BYTES);
    for (i = 0; i < ELEMENTS; ++i, at += extent) {
        const int number = (i * 7 + rank * 5) % 11 - 3;
        if (type == MPI_SHORT_INT) {
            *(short*)at = (short)(number % 2);
            *(int*)(at + sizeof(int)) = number;
        } else if (type == MPI_LONG_DOUBLE_INT) {
            *(long double*)at = number % 2;
            *(int*)(at + sizeof(long double)) = number;
        } else if (type == MPI_LONG_DOUBLE) {
            *(long double*)at = number;
        } else if (extent == 2 * sizeof(long double)) {
            ((long double*)at)[0] = number;
            ((long double*)at)[1] = i;
        } else if (extent == 2 * sizeof(double)) {
            ((double*)at)[0] = number;
            ((double*)at)[1] = i;
        } else {
            ((float*)at)[0] = (float)number;
            ((float*)at)[1] = (float)i;
        }
    }
}

static void reductions_without_the_mpi(void) {
    static char in[2][BYTES], out[BYTES], mine[BYTES], wanted[BYTES];
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } all[] = {{MPI_C_FLOAT_COMPLEX, MPI_SUM},
               {MPI_C_DOUBLE_COMPLEX, MPI_SUM},
               {MPI_CXX_FLOAT_COMPLEX, MPI_SUM},
               {MPI_CXX_DOUBLE_COMPLEX, MPI_SUM},
               {MPI_COMPLEX, MPI_SUM},
               {MPI_DOUBLE_COMPLEX, MPI_SUM},
               {MPI_LONG_DOUBLE, MPI_SUM},
               {MPI_LONG_DOUBLE, MPI_PROD},
               {MPI_LONG_DOUBLE, MPI_MIN},
               {MPI_LONG_DOUBLE, MPI_MAX},
               {MPI_SHORT_INT, MPI_MINLOC},
               {MPI_SHORT_INT, MPI_MAXLOC},
               {MPI_LONG_DOUBLE_INT, MPI_MINLOC},
               {MPI_LONG_DOUBLE_INT, MPI_MAXLOC},
               {MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM}};
    int i, rank, bytes;
    if (world_ranks != 2) fail(__FILE__, __LINE__, "not two ranks");
    for (i = 0; i < (int)(sizeof all / sizeof *all); ++i) {
        MPI_Request request;
        bytes = 0;
        if (all[i].type != MPI_DATATYPE_NULL) CALL(MPI_Type_size(all[i].type, &bytes));
        if (bytes == 0) continue; /* Fortran's, of an MPI without Fortran */
        doing("reduction %d", i);
        for (rank = 0; rank < 2; ++rank) fill_numbers(in[rank], all[i].type, rank);
        memset(out, 0, sizeof out);
        CALL(MPI_Iallreduce(in[world_rank], out, ELEMENTS, all[i].type, all[i].op, MPI_COMM_WORLD,
                            &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CALL(MPI_Reduce_local(in[0], in[1], ELEMENTS, all[i].type, all[i].op));
        CHECK(packed(out, all[i].type, mine) == packed(in[1], all[i].type, wanted));
        CHECK(!memcmp(mine, wanted, (size_t)packed(in[1], all[i].type, wanted)));
    }
}

const Section predefined_sections[] = {{"reductions_without_the_mpi", reductions_without_the_mpi,
                                        "those that Weft combines by loops of its own"},
                                       {"predefined_reductions", predefined_reductions,
                                        "every predefined type by every predefined operation"},
                                       {NULL, NULL, NULL}};
