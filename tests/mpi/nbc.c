/* What <nbc.h> promises, in programs like those of LibNBC: NAME ... Results are compared
   with what the MPI's own collectives give. Ends with status 1 and a sentence when something does not hold. */
#include <math.h>
#include <nbc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nbc_unit.h"

#define EXPECT(condition)                                                             \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "rank %d, line %d: %s; %s\n", rank, __LINE__, #condition, \
                    weft_last_detail());                                              \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

enum { max_ranks = 8, max_bytes = 1 << 15 };

static int rank, ranks;
static NBC_Handle handle;
static MPI_Status status;

/* Memory of a call: what is sent, what the MPI receives and what NBC receives, all filled alike. */
static unsigned char sent[max_bytes], theirs[max_bytes], ours[max_bytes];

static void fill(void) {
    int i;
    for (i = 0; i < max_bytes; ++i) {
        sent[i] = (unsigned char)(i * 31 + rank * 17 + i / 256);
        theirs[i] = ours[i] = (unsigned char)(i * 7 + rank * 91 + i / 256);
    }
}

static void expect_equal(const char* what, int a, int b) {
    int i;
    NBC_Wait(&handle, &status);
    for (i = 0; i < max_bytes; ++i) {
        if (theirs[i] == ours[i]) continue;
        fprintf(stderr, "rank %d: %s (%d, %d) differs at byte %d\n", rank, what, a, b, i);
        exit(1);
    }
}

#define COMPARE(mpi, nbc, a, b)       \
    do {                              \
        fill();                       \
        EXPECT((mpi) == MPI_SUCCESS); \
        EXPECT((nbc) == NBC_OK);      \
        expect_equal(#nbc, (a), (b)); \
    } while (0)

/* Contiguous, with gaps, out of order, and predefined with gaps. */
enum { types = 7 };
static MPI_Datatype type_of(int which) {
    MPI_Datatype type = MPI_INT, inner;
    int lengths[2] = {1, 2};
    int places[2] = {3, 0};
    switch (which) {
        case 0: return MPI_INT;
        case 1: return MPI_DOUBLE;
        case 2:
            MPI_Type_contiguous(3, MPI_SHORT, &inner);
            MPI_Type_dup(inner, &type);
            MPI_Type_free(&inner);
            break;
        case 3: MPI_Type_vector(3, 1, 2, MPI_INT, &type); break;
        case 4: MPI_Type_indexed(2, lengths, places, MPI_INT, &type); break;
        case 5:
            MPI_Type_vector(2, 1, 3, MPI_SHORT, &inner);
            MPI_Type_contiguous(2, inner, &type);
            MPI_Type_free(&inner);
            break;
        default: return MPI_DOUBLE_INT;
    }
    MPI_Type_commit(&type);
    return type;
}
static void free_type(int which, MPI_Datatype* type) {
    if (which >= 2 && which <= 5) MPI_Type_free(type);
}

/* Every collective that moves data, with `count` elements of a type. */
static void move(MPI_Datatype type, int count) {
    int counts[max_ranks], displs[max_ranks], to[max_ranks], to_displs[max_ranks];
    int root, r, own, place = 0, to_place = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    for (r = 0; r < ranks;
         ++r) { /* block r has r + 1 elements for each of count, the last one comes first */
        counts[ranks - 1 - r] = count * (ranks - r);
        displs[ranks - 1 - r] = place;
        place += counts[ranks - 1 - r] + 1;
    }
    own = counts[rank];
    for (r = 0; r < ranks; ++r) {
        to[r] = own;
        to_displs[r] = to_place;
        to_place += own;
    }
    for (root = 0; root < ranks; ++root) {
        const int is_root = rank == root;
        COMPARE(MPI_Bcast(theirs, count, type, root, world),
                NBC_Ibcast(ours, count, type, root, world, &handle), count, root);
        COMPARE(MPI_Gather(sent, count, type, theirs, count, type, root, world),
                NBC_Igather(sent, count, type, ours, count, type, root, world, &handle), count,
                root);
        COMPARE(MPI_Gather(is_root ? MPI_IN_PLACE : sent, count, type, theirs, count, type, root,
                           world),
                NBC_Igather(is_root ? MPI_IN_PLACE : sent, count, type, ours, count, type, root,
                            world, &handle),
                count, root);
        COMPARE(MPI_Gatherv(sent, own, type, theirs, counts, displs, type, root, world),
                NBC_Igatherv(sent, own, type, ours, is_root ? counts : NULL,
                             is_root ? displs : NULL, type, root, world, &handle),
                count, root);
        COMPARE(MPI_Gatherv(is_root ? MPI_IN_PLACE : sent, own, type, theirs, counts, displs, type,
                            root, world),
                NBC_Igatherv(is_root ? MPI_IN_PLACE : sent, own, type, ours, counts, displs, type,
                             root, world, &handle),
                count, root);
        COMPARE(MPI_Scatter(sent, count, type, theirs, count, type, root, world),
                NBC_Iscatter(sent, count, type, ours, count, type, root, world, &handle), count,
                root);
        COMPARE(MPI_Scatter(sent, count, type, is_root ? MPI_IN_PLACE : theirs, count, type, root,
                            world),
                NBC_Iscatter(sent, count, type, is_root ? MPI_IN_PLACE : ours, count, type, root,
                             world, &handle),
                count, root);
        COMPARE(MPI_Scatterv(sent, counts, displs, type, theirs, own, type, root, world),
                NBC_Iscatterv(sent, is_root ? counts : NULL, is_root ? displs : NULL, type, ours,
                              own, type, root, world, &handle),
                count, root);
        COMPARE(MPI_Scatterv(sent, counts, displs, type, is_root ? MPI_IN_PLACE : theirs, own, type,
                             root, world),
                NBC_Iscatterv(sent, counts, displs, type, is_root ? MPI_IN_PLACE : ours, own, type,
                              root, world, &handle),
                count, root);
    }
    COMPARE(MPI_Allgather(sent, count, type, theirs, count, type, world),
            NBC_Iallgather(sent, count, type, ours, count, type, world, &handle), count, 0);
    COMPARE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, theirs, count, type, world),
            NBC_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ours, count, type, world, &handle),
            count, 0);
    COMPARE(MPI_Allgather(MPI_IN_PLACE, count, type, theirs, count, type, world),
            NBC_Iallgather(ours, count, type, ours, count, type, world, &handle), count, 0);
    COMPARE(MPI_Allgatherv(sent, own, type, theirs, counts, displs, type, world),
            NBC_Iallgatherv(sent, own, type, ours, counts, displs, type, world, &handle), count, 0);
    COMPARE(MPI_Allgatherv(MPI_IN_PLACE, 0, type, theirs, counts, displs, type, world),
            NBC_Iallgatherv(MPI_IN_PLACE, 0, type, ours, counts, displs, type, world, &handle),
            count, 0);
    COMPARE(MPI_Alltoall(sent, count, type, theirs, count, type, world),
            NBC_Ialltoall(sent, count, type, ours, count, type, world, &handle), count, 0);
    COMPARE(MPI_Alltoall(MPI_IN_PLACE, count, type, theirs, count, type, world),
            NBC_Ialltoall(MPI_IN_PLACE, count, type, ours, count, type, world, &handle), count, 0);
    /* Every rank sends blocks of its own size. */
    COMPARE(MPI_Alltoallv(sent, to, to_displs, type, theirs, counts, displs, type, world),
            NBC_Ialltoallv(sent, to, to_displs, type, ours, counts, displs, type, world, &handle),
            count, 0);
    for (r = 0; r < ranks; ++r) { /* in place, pairs exchange equally much */
        counts[r] = count * (1 + (r + rank) % 3);
        displs[r] = 3 * count * (ranks - 1 - r);
    }
    COMPARE(
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, type, theirs, counts, displs, type, world),
        NBC_Ialltoallv(MPI_IN_PLACE, NULL, NULL, type, ours, counts, displs, type, world, &handle),
        count, 0);
}

static void collectives(void) {
    int which, i;
    const int counts[] = {0, 1, 5, 60};
    for (which = 0; which < types; ++which) {
        MPI_Datatype type = type_of(which);
        for (i = 0; i < 4; ++i) move(type, counts[i]);
        free_type(which, &type);
    }
    for (i = 0; i < 20; ++i) {
        EXPECT(NBC_Ibarrier(MPI_COMM_WORLD, &handle) == NBC_OK);
        EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    }
}

/* Sender and receiver describe the same elements differently; types and arrays go before the end. */
static void types_on_two_sides(void) {
    int numbers[4 * max_ranks], spread[8 * max_ranks], counts[max_ranks], displs[max_ranks], i;
    MPI_Datatype every_other, backwards;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
    {
        int lengths[4] = {1, 1, 1, 1};
        int places[4] = {3, 2, 1, 0};
        MPI_Type_indexed(4, lengths, places, MPI_INT, &backwards);
    }
    MPI_Type_commit(&every_other);
    MPI_Type_commit(&backwards);
    for (i = 0; i < 4; ++i) numbers[i] = 10 * rank + i;
    for (i = 0; i < 8 * max_ranks; ++i) spread[i] = -1;
    for (i = 0; i < ranks; ++i) counts[i] = 1, displs[i] = i;
    /* the extent of every_other is 7 ints */
    EXPECT(NBC_Iallgatherv(numbers, 1, backwards, spread, counts, displs, every_other,
                           MPI_COMM_WORLD, &handle) == NBC_OK);
    MPI_Type_free(&every_other);
    MPI_Type_free(&backwards);
    memset(counts, 0, sizeof counts);
    memset(displs, 0, sizeof displs);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < 7 * ranks; ++i) {
        const int r = i / 7, k = i % 7;
        EXPECT(spread[i] == (k % 2 == 0 ? 10 * r + 3 - k / 2 : -1));
    }
}

/* Blocks of several types; a pair of ranks agrees on one. */
static MPI_Datatype block_types[max_ranks];
static int block_counts[max_ranks], block_displs[max_ranks];
static MPI_Aint block_places[max_ranks];
enum { block_bytes = max_bytes / max_ranks };

static void describe_block(int block, int other, int n) {
    block_types[block] = type_of((rank + other) % types);
    block_counts[block] = n * (1 + (rank + other) % 3);
    block_displs[block] = block * block_bytes + 16;
    block_places[block] = block_displs[block];
}
static void forget_blocks(int blocks) {
    int i;
    for (i = 0; i < blocks; ++i) {
        if (block_types[i] == MPI_INT || block_types[i] == MPI_DOUBLE ||
            block_types[i] == MPI_DOUBLE_INT)
            continue;
        MPI_Type_free(&block_types[i]);
    }
    memset(block_counts, 0, sizeof block_counts);
    memset(block_displs, 0, sizeof block_displs);
    memset(block_places, 0, sizeof block_places);
}
/* Types and arrays go before the end. */
static int start_alltoallw(const void* from) {
    const int code =
        NBC_Ialltoallw(from, block_counts, block_displs, block_types, ours, block_counts,
                       block_displs, block_types, MPI_COMM_WORLD, &handle);
    forget_blocks(ranks);
    return code;
}

static void blocks_of_several_types(void) {
    int n, r, is_right = 1;
#ifdef OPEN_MPI /* counts displacements in elements if it has one rank, and is wrong in place */
    is_right = ranks > 1;
#endif
    for (n = 0; n < 9; n += 4) {
        if (!is_right) break;
        for (r = 0; r < ranks; ++r) describe_block(r, r, n);
        COMPARE(MPI_Alltoallw(sent, block_counts, block_displs, block_types, theirs, block_counts,
                              block_displs, block_types, MPI_COMM_WORLD),
                start_alltoallw(sent), n, 0);
        for (r = 0; r < ranks; ++r) describe_block(r, r, n);
#ifndef OPEN_MPI
        COMPARE(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, theirs, block_counts, block_displs,
                              block_types, MPI_COMM_WORLD),
                start_alltoallw(MPI_IN_PLACE), n, 0);
#else
        forget_blocks(ranks);
#endif
    }
    for (r = 0; r < ranks; ++r) { /* nothing needs no type */
        block_types[r] = MPI_DATATYPE_NULL;
        block_counts[r] = 0;
    }
    EXPECT(NBC_Ialltoallw(sent, block_counts, block_displs, block_types, ours, block_counts,
                          block_displs, block_types, MPI_COMM_WORLD, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    block_counts[0] = 1;
    EXPECT(NBC_Ialltoallw(sent, block_counts, block_displs, block_types, ours, block_counts,
                          block_displs, block_types, MPI_COMM_WORLD, &handle) == NBC_INVALID_PARAM);
    block_counts[0] = 0;
}

static void reductions(void) {
    const MPI_Datatype all[] = {MPI_INT,
                                MPI_LONG,
                                MPI_SHORT,
                                MPI_SIGNED_CHAR,
                                MPI_LONG_LONG,
                                MPI_UNSIGNED,
                                MPI_UNSIGNED_CHAR,
                                MPI_UNSIGNED_SHORT,
                                MPI_UNSIGNED_LONG,
                                MPI_INT32_T,
                                MPI_UINT64_T,
                                MPI_AINT,
                                MPI_FLOAT,
                                MPI_DOUBLE,
                                MPI_BYTE,
                                MPI_C_BOOL,
                                MPI_2INT,
                                MPI_FLOAT_INT,
                                MPI_DOUBLE_INT,
                                MPI_LONG_INT,
                                MPI_C_FLOAT_COMPLEX,
                                MPI_C_DOUBLE_COMPLEX};
    const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                          MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    const int counts[] = {0, 1, 37};
    MPI_Comm world = MPI_COMM_WORLD;
    int t, o, c, r, i, of_rank[max_ranks], tried = 0;
    for (t = 0; t < (int)(sizeof all / sizeof *all); ++t) {
        for (o = 0; o < 12; ++o) {
            const MPI_Datatype type = all[t];
            const MPI_Op op = ops[o];
            const int is_real = type == MPI_FLOAT || type == MPI_DOUBLE;
            const int is_pair = t >= 16 && t < 20, is_complex = t >= 20;
            int size;
            if ((is_complex && o >= 2) || is_pair != (o >= 10) || (is_real && o >= 4) ||
                (type == MPI_BYTE && (o < 7)) || (type == MPI_C_BOOL && (o < 4 || o > 6)))
                continue;
            ++tried;
            MPI_Type_size(type, &size);
            for (c = t == 0 ? 0 : 2; c < 3; ++c) {
                const int n = counts[c], root = (t + o) % ranks;
                int all_counts = 0;
                for (r = 0; r < ranks; ++r) all_counts += of_rank[r] = n * (r % 3);
/* Numbers whose sums are exact (Open MPI's of short ones do not wrap around), truths that are 0 or 1, and pairs with
   many equal values. */
#define REFILL()                                                                                  \
    do {                                                                                          \
        fill();                                                                                   \
        for (i = 0; i < 2000; ++i) {                                                              \
            const int v = (i * 5 + rank * 3) % 4;                                                 \
            unsigned char* buffers[3];                                                            \
            int b;                                                                                \
            buffers[0] = sent, buffers[1] = theirs, buffers[2] = ours;                            \
            for (b = 0; b < 3; ++b) {                                                             \
                unsigned char* at = buffers[b];                                                   \
                if (type == MPI_FLOAT || type == MPI_C_FLOAT_COMPLEX) ((float*)at)[i] = (float)v; \
                if (type == MPI_DOUBLE || type == MPI_C_DOUBLE_COMPLEX) ((double*)at)[i] = v;     \
                if (size == 1 && type != MPI_BYTE) at[i] = (unsigned char)(v + 1);                \
                if (size == 2) ((short*)at)[i] = (short)(v + 1);                                  \
                if (type == MPI_C_BOOL) at[i] = (unsigned char)(v & 1);                           \
                if (type == MPI_2INT) ((int*)at)[2 * i] = v, ((int*)at)[2 * i + 1] = rank;        \
                if (type == MPI_FLOAT_INT)                                                        \
                    ((float*)at)[2 * i] = (float)v, ((int*)at)[2 * i + 1] = rank;                 \
                if (type == MPI_DOUBLE_INT)                                                       \
                    ((double*)at)[2 * i] = v, ((int*)at)[4 * i + 2] = rank;                       \
                if (type == MPI_LONG_INT) ((long*)at)[2 * i] = v, ((int*)at)[4 * i + 2] = rank;   \
            }                                                                                     \
        }                                                                                         \
    } while (0)
#define COMPARE_REDUCTION(mpi, nbc)   \
    do {                              \
        REFILL();                     \
        EXPECT((mpi) == MPI_SUCCESS); \
        EXPECT((nbc) == NBC_OK);      \
        NBC_Wait(&handle, &status);   \
        clear_gaps(type, theirs);     \
        clear_gaps(type, ours);       \
        expect_equal(#nbc, t, o);     \
    } while (0)
                COMPARE_REDUCTION(MPI_Reduce(sent, theirs, n, type, op, root, world),
                                  NBC_Ireduce(sent, rank == root ? ours : NULL, n, type, op, root,
                                              world, &handle));
                COMPARE_REDUCTION(MPI_Reduce(rank == root ? MPI_IN_PLACE : sent, theirs, n, type,
                                             op, root, world),
                                  NBC_Ireduce(rank == root ? MPI_IN_PLACE : sent, ours, n, type, op,
                                              root, world, &handle));
                COMPARE_REDUCTION(MPI_Allreduce(sent, theirs, n, type, op, world),
                                  NBC_Iallreduce(sent, ours, n, type, op, world, &handle));
                COMPARE_REDUCTION(MPI_Allreduce(MPI_IN_PLACE, theirs, n, type, op, world),
                                  NBC_Iallreduce(MPI_IN_PLACE, ours, n, type, op, world, &handle));
                COMPARE_REDUCTION(MPI_Allreduce(MPI_IN_PLACE, theirs, n, type, op, world),
                                  NBC_Iallreduce(ours, ours, n, type, op, world, &handle));
                COMPARE_REDUCTION(MPI_Scan(sent, theirs, n, type, op, world),
                                  NBC_Iscan(sent, ours, n, type, op, world, &handle));
                COMPARE_REDUCTION(MPI_Scan(MPI_IN_PLACE, theirs, n, type, op, world),
                                  NBC_Iscan(MPI_IN_PLACE, ours, n, type, op, world, &handle));
                COMPARE_REDUCTION(
                    MPI_Reduce_scatter(sent, theirs, of_rank, type, op, world),
                    NBC_Ireduce_scatter(sent, ours, of_rank, type, op, world, &handle));
                /* In place only the result is defined. */
                REFILL();
                EXPECT(NBC_Ireduce_scatter(MPI_IN_PLACE, ours, of_rank, type, op, world, &handle) ==
                       NBC_OK);
                MPI_Reduce_scatter(MPI_IN_PLACE, theirs, of_rank, type, op, world);
                EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
                clear_gaps(type, theirs);
                clear_gaps(type, ours);
                EXPECT(memcmp(theirs, ours, (size_t)(of_rank[rank] * size)) == 0 || all_counts < 0);
            }
        }
    }
    EXPECT(tried == 12 * 10 + 2 * 4 + 3 + 3 + 4 * 2 + 2 * 2);
}

/* Affine maps x -> a x + b modulo 2^32, as pairs; their composition does not commute. */
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
    const unsigned* left = (const unsigned*)in;
    unsigned* right = (unsigned*)inout;
    int i;
    (void)type;
    for (i = 0; i < 2 * *count; i += 2) {
        right[i + 1] = left[i] * right[i + 1] + left[i + 1];
        right[i] *= left[i];
    }
}

/* The program's own operations, on its own types and predefined ones. */
static void own_operations(void) {
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype maps;
    MPI_Op sums, composes;
    int r, of_rank[max_ranks], n;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &maps);
    MPI_Type_commit(&maps);
    MPI_Op_create(sum_of_ints, 1, &sums);
    MPI_Op_create(compose, 0, &composes);
    for (n = 0; n < 1000; n = 7 * n + 1) {
        const int root = n % ranks;
        for (r = 0; r < ranks; ++r) of_rank[r] = r % 3 * (n / ranks / 3);
        COMPARE(MPI_Allreduce(sent, theirs, n, MPI_INT, sums, world),
                NBC_Iallreduce(sent, ours, n, MPI_INT, sums, world, &handle), n, 0);
        COMPARE(MPI_Allreduce(sent, theirs, n, maps, composes, world),
                NBC_Iallreduce(sent, ours, n, maps, composes, world, &handle), n, 1);
        COMPARE(
            MPI_Reduce(sent, theirs, n, maps, composes, root, world),
            NBC_Ireduce(sent, rank == root ? ours : NULL, n, maps, composes, root, world, &handle),
            n, 2);
        COMPARE(MPI_Scan(sent, theirs, n, maps, composes, world),
                NBC_Iscan(sent, ours, n, maps, composes, world, &handle), n, 3);
        COMPARE(MPI_Reduce_scatter(sent, theirs, of_rank, maps, composes, world),
                NBC_Ireduce_scatter(sent, ours, of_rank, maps, composes, world, &handle), n, 4);
    }
    MPI_Op_free(&sums);
    MPI_Op_free(&composes);
    MPI_Type_free(&maps);
}

static void refused(void) {
    MPI_Comm world = MPI_COMM_WORLD, inter, half;
    MPI_Op own_op;
    MPI_Datatype gaps = type_of(3);
    NBC_Schedule schedule;
    int n = 1, flag = 7, m = -1;
    double z[2] = {0, 0};
    EXPECT(NBC_Iallreduce(z, z + 1, 1, MPI_LONG_DOUBLE, MPI_SUM, world, &handle) ==
           NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Iallreduce(z, z + 1, 1, gaps, MPI_SUM, world, &handle) ==
           NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Iallreduce(z, z + 1, 1, MPI_DATATYPE_NULL, MPI_SUM, world, &handle) ==
           NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Iallreduce(z, z + 1, 1, MPI_DOUBLE, MPI_BAND, world, &handle) ==
           NBC_OP_NOT_SUPPORTED);
    EXPECT(NBC_Iallreduce(z, z + 1, 1, MPI_INT, MPI_MAXLOC, world, &handle) ==
           NBC_OP_NOT_SUPPORTED);
    MPI_Op_create(sum_of_ints, 1, &own_op);
    EXPECT(NBC_Iscan(z, z + 1, 1, gaps, own_op, world, &handle) == NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Iscan(z, z + 1, 1, MPI_INT, MPI_OP_NULL, world, &handle) == NBC_OP_NOT_SUPPORTED);
    EXPECT(NBC_Sched_create(&schedule) == NBC_OK);
    EXPECT(NBC_Sched_op(&n, 0, &n, 0, &m, 0, 1, MPI_INT, own_op, &schedule) ==
           NBC_OP_NOT_SUPPORTED);
    NBC_Sched_free(&schedule);
    MPI_Op_free(&own_op);
    EXPECT(NBC_Ibcast(&n, 1, MPI_INT, ranks, world, &handle) == NBC_INVALID_PARAM);
    EXPECT(NBC_Ibcast(&n, 1, MPI_INT, -1, world, &handle) == NBC_INVALID_PARAM);
    EXPECT(NBC_Ibcast(&n, -1, MPI_INT, 0, world, &handle) == NBC_INVALID_PARAM);
    EXPECT(NBC_Ibcast(&n, 1, MPI_DATATYPE_NULL, 0, world, &handle) == NBC_INVALID_PARAM);
    EXPECT(NBC_Ibcast(&n, 1, MPI_INT, 0, MPI_COMM_NULL, &handle) == NBC_INVALID_PARAM);
    EXPECT(NBC_Iallgather(&n, 1, MPI_INT, sent, 1, MPI_DOUBLE, world, &handle) ==
           NBC_INVALID_PARAM);
    EXPECT(NBC_Ineighbor_alltoall(&n, 1, MPI_INT, sent, 1, MPI_INT, world, &handle) ==
           NBC_INVALID_TOPOLOGY_COMM);
    EXPECT(NBC_Ibcast_inter(&n, 1, MPI_INT, 0, world, &handle) == NBC_NOT_IMPLEMENTED);
    /* A handle without an operation is done. */
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    EXPECT(NBC_Test(&handle, &flag, &status) == NBC_OK && flag == 1);
    if (ranks > 1) {
        MPI_Comm_split(world, rank == 0, rank, &half);
        MPI_Intercomm_create(half, 0, world, rank == 0, 5, &inter);
        EXPECT(NBC_Ibarrier(inter, &handle) == NBC_NOT_IMPLEMENTED);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }

    EXPECT(NBC_Init_handle(&handle, world) == NBC_OK);
    EXPECT(NBC_Sched_create(&schedule) == NBC_OK);
    EXPECT(NBC_Sched_send(&n, 0, 1, gaps, 0, &schedule) == NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Sched_send(&n, 0, -1, MPI_INT, 0, &schedule) == NBC_INVALID_PARAM);
    EXPECT(NBC_Sched_recv(&n, 0, 1, MPI_INT, MPI_ANY_SOURCE, &schedule) == NBC_INVALID_PARAM);
    EXPECT(NBC_Sched_copy(z, 0, 2, MPI_DOUBLE, &n, 0, 1, MPI_INT, &schedule) == NBC_INVALID_PARAM);
    EXPECT(NBC_Sched_unpack(z, 0, 1, MPI_INT, &n, 0, &schedule) == NBC_NOT_IMPLEMENTED);
    EXPECT(NBC_Sched_op(&n, 0, &n, 0, &m, 0, 1, MPI_INT, MPI_SUM, &schedule) == NBC_OK);
    EXPECT(NBC_Sched_op(&n, 0, &n, 0, &m, 0, 1, MPI_INT, MPI_PROD, &schedule) ==
           NBC_OP_NOT_SUPPORTED);
    EXPECT(NBC_Sched_op(z, 0, z, 0, z + 1, 0, 1, MPI_DOUBLE, MPI_SUM, &schedule) ==
           NBC_DATATYPE_NOT_SUPPORTED);
    EXPECT(NBC_Start(&handle, &schedule) == NBC_BAD_SCHED);
    EXPECT(NBC_Sched_commit(&schedule) == NBC_OK);
    EXPECT(NBC_Sched_commit(&schedule) == NBC_BAD_SCHED);
    EXPECT(NBC_Sched_barrier(&schedule) == NBC_BAD_SCHED);
    NBC_Sched_free(&schedule);
    EXPECT(schedule == NULL && NBC_Sched_barrier(&schedule) == NBC_BAD_SCHED);

    EXPECT(NBC_Sched_create(&schedule) == NBC_OK);
    NBC_Sched_copy(NULL, 1, 1, MPI_INT, &n, 0, 1, MPI_INT, &schedule);
    NBC_Sched_commit(&schedule);
    EXPECT(NBC_Start(&handle, &schedule) == NBC_INVALID_PARAM); /* no tmpbuf */
    NBC_Sched_free(&schedule);

    EXPECT(NBC_Sched_create(&schedule) == NBC_OK);
    NBC_Sched_send(&n, 0, 1, MPI_INT, rank, &schedule);
    NBC_Sched_barrier(&schedule);
    NBC_Sched_recv(&m, 0, 1, MPI_INT, rank, &schedule);
    NBC_Sched_commit(&schedule);
    EXPECT(NBC_Start(&handle, &schedule) == NBC_BAD_SCHED); /* to itself, in another round */
    NBC_Sched_free(&schedule);
    MPI_Type_free(&gaps);
    EXPECT(NBC_Ibarrier(world, &handle) == NBC_OK && NBC_Wait(&handle, &status) == NBC_OK);
}

/* Each communicator's first call makes what it needs; MPI_Comm_free and MPI_Finalize free it. */
static void communicators(void) {
    MPI_Comm dup, half, backwards;
    NBC_Handle first, second;
    int i, in[3], out[3] = {0, 0, 0}, half_ranks;
    EXPECT(NBC_Ibarrier(MPI_COMM_WORLD, &handle) == NBC_OK);
    EXPECT(weft_is_initialized());
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < 30; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
        MPI_Comm_size(half, &half_ranks);
        in[0] = 1, in[1] = rank, in[2] = rank;
        EXPECT(NBC_Iallreduce(&in[0], &out[0], 1, MPI_INT, MPI_SUM, half, &first) == NBC_OK);
        EXPECT(NBC_Iallreduce(&in[1], &out[1], 1, MPI_INT, MPI_SUM, dup, &second) == NBC_OK);
        EXPECT(NBC_Ibcast(&in[2], 1, MPI_INT, 0, backwards, &handle) == NBC_OK);
        /* Operations of a freed communicator finish. */
        MPI_Comm_free(&half);
        EXPECT(NBC_Wait(&second, &status) == NBC_OK && NBC_Wait(&handle, &status) == NBC_OK);
        EXPECT(NBC_Wait(&first, &status) == NBC_OK);
        EXPECT(out[0] == half_ranks && out[1] == ranks * (ranks - 1) / 2 && in[2] == ranks - 1);
        MPI_Comm_free(&dup);
        MPI_Comm_free(&backwards);
    }
    EXPECT(NBC_Iallreduce(&in[0], &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &first) == NBC_OK);
    EXPECT(NBC_Wait(&first, &status) == NBC_OK && out[0] == 1);
}

/* A first call on a part of the ranks makes a job of it; the world is a group of several jobs then. */
static void a_part_first(void) {
    MPI_Comm half;
    int one = 1, sum = 0, size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &size);
    EXPECT(NBC_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK && sum == size);
    EXPECT(NBC_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK && sum == ranks);
}

/* Who has started Weft ends it. */
static void weft_of_the_program(void) {
    weft_comm comm;
    int one = 1, sum = 0;
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    EXPECT(NBC_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK && sum == ranks);
    EXPECT(weft_finalize() == WEFT_OK);
}

/* Two units of a program, which both include nbc.h: rank 0 calls from one, the others from the other. */
static void two_units(void) {
    int i, number;
    for (i = 0; i < 10; ++i) {
        number = rank == 0 ? 40 + i : 0;
        if (rank == 0)
            EXPECT(NBC_Ibcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD, &handle) == NBC_OK);
        if (rank != 0) EXPECT(bcast_of_another_unit(&number, &handle) == NBC_OK);
        EXPECT(NBC_Wait(&handle, &status) == NBC_OK && number == 40 + i);
    }
}

/* Many at a time, finished in another order, by tests. */
static void many(void) {
    enum { count = 40 };
    NBC_Handle handles[count];
    int in[count], out[count], i, flag, left = count, rounds;
    for (rounds = 0; rounds < 5; ++rounds, left = count) {
        for (i = 0; i < count; ++i) {
            in[i] = rank + i;
            EXPECT(NBC_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                  &handles[i]) == NBC_OK);
        }
        while (left > 0) {
            for (left = 0, i = count - 1; i >= 0; --i) {
                EXPECT(NBC_Test(&handles[i], &flag, &status) == NBC_OK);
                left += !flag;
            }
        }
        for (i = 0; i < count; ++i) EXPECT(out[i] == ranks * (ranks - 1) / 2 + i * ranks);
    }
}

/* A rank that waits for a collective lets the MPI send what another rank needs to get there: more messages
   than it takes at a time. */
static void mpi_works_meanwhile(void) {
    enum { messages = 500, n = 8192 };
    static MPI_Request requests[messages];
    char* data = (char*)calloc(n, 1);
    int i;
    /* Collective: later it would let the MPI work, too. */
    EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
    for (i = 0; i < messages && ranks > 1; ++i) {
        requests[i] = MPI_REQUEST_NULL;
        if (rank == 0)
            MPI_Isend(data, n, MPI_CHAR, ranks - 1, 3, MPI_COMM_WORLD, &requests[i]);
        else if (rank == ranks - 1)
            MPI_Recv(data, n, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    EXPECT(NBC_Ibarrier(MPI_COMM_WORLD, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    if (ranks > 1) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    /* In MPICH 5.0.2 a send may stay pending while its receiver is in MPI_Finalize. */
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
}

/* --- Schedules of the program ---------------------------------------------------------------- */

/* A barrier by dissemination, in rounds; started again and again. */
static void own_barrier(void) {
    NBC_Schedule schedule;
    int distance, i, before, in = 0, sum;
    EXPECT(NBC_Sched_create(&schedule) == NBC_OK);
    for (distance = 1; distance < ranks; distance *= 2) {
        EXPECT(NBC_Sched_send(NULL, 0, MPI_BYTE, (rank + distance) % ranks, &schedule) == NBC_OK);
        EXPECT(NBC_Sched_recv(NULL, 0, MPI_BYTE, (rank - distance + ranks) % ranks, &schedule) ==
               NBC_OK);
        EXPECT(NBC_Sched_barr(&schedule) == NBC_OK);
    }
    EXPECT(NBC_Sched_commit(&schedule) == NBC_OK);
    for (i = 0; i < 200; ++i) {
        EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
        EXPECT(NBC_Start(&handle, &schedule) == NBC_OK);
        EXPECT(NBC_Wait(&handle) == NBC_OK);
    }
    /* Who is late holds up all. */
    for (i = 0; i < ranks; ++i) {
        before = 0;
        if (rank == i) {
            NBC_Ibarrier(MPI_COMM_SELF, &handle);
            NBC_Wait(&handle);
        }
        in = 1;
        EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
        EXPECT(NBC_Start(&handle, &schedule) == NBC_OK);
        while (NBC_Test(&handle) == NBC_CONTINUE) ++before;
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(sum == ranks && before >= 0);
    }
    NBC_Sched_free(&schedule);
}

/* An allgather along a ring, two of them under way at the same time. */
static void own_ring(void) {
    enum { n = 100 };
    static int data[2][max_ranks][n];
    NBC_Schedule schedules[2];
    NBC_Handle handles[2];
    int s, r, i, again;
    for (s = 0; s < 2; ++s) {
        NBC_Sched_create(&schedules[s]);
        for (r = 0; r < ranks - 1; ++r) {
            const int out = (rank - r + ranks) % ranks, in = (rank - r - 1 + ranks) % ranks;
            NBC_Sched_recv(data[s][in], 0, n, MPI_INT, (rank - 1 + ranks) % ranks, &schedules[s]);
            NBC_Sched_send(data[s][out], 0, n, MPI_INT, (rank + 1) % ranks, &schedules[s]);
            NBC_Sched_barrier(&schedules[s]);
        }
        EXPECT(NBC_Sched_commit(&schedules[s]) == NBC_OK);
    }
    for (again = 0; again < 20; ++again) {
        memset(data, 0, sizeof data);
        for (s = 0; s < 2; ++s)
            for (i = 0; i < n; ++i) data[s][rank][i] = again + 1000 * s + 100 * rank + i;
        for (s = 0; s < 2; ++s) {
            EXPECT(NBC_Init_handle(&handles[s], MPI_COMM_WORLD) == NBC_OK);
            EXPECT(NBC_Start(&handles[s], &schedules[s]) == NBC_OK);
        }
        EXPECT(NBC_Wait(&handles[1], &status) == NBC_OK);
        EXPECT(NBC_Wait(&handles[0], &status) == NBC_OK);
        for (s = 0; s < 2; ++s)
            for (r = 0; r < ranks; ++r)
                for (i = 0; i < n; ++i) EXPECT(data[s][r][i] == again + 1000 * s + 100 * r + i);
    }
    for (s = 0; s < 2; ++s) NBC_Sched_free(&schedules[s]);
}

/* A reduction along a binomial tree whose operands are in tmpbuf: one half receives, the other has what was
   combined so far. Operations of a round happen in order: the copy first, then the op, then the send. */
static void own_reduce(void) {
    enum { n = 33 };
    int in[n], out[n], i, again, distance, place = n * (int)sizeof(int);
    NBC_Schedule* schedule = (NBC_Schedule*)malloc(sizeof *schedule);
    EXPECT(NBC_Sched_create(schedule) == NBC_OK);
    NBC_Sched_copy(in, 0, n, MPI_INT, (void*)(size_t)place, 1, n, MPI_INT, schedule);
    for (distance = 1; distance < ranks; distance *= 2) {
        if (rank & distance) {
            NBC_Sched_send((void*)(size_t)place, 1, n, MPI_INT, rank - distance, schedule);
            break;
        }
        if (rank + distance >= ranks) continue;
        NBC_Sched_recv(NULL, 1, n, MPI_INT, rank + distance, schedule);
        NBC_Sched_barrier(schedule);
        NBC_Sched_op((void*)(size_t)place, 1, NULL, 1, (void*)(size_t)place, 1, n, MPI_INT, MPI_SUM,
                     schedule);
    }
    if (rank == 0)
        NBC_Sched_copy((void*)(size_t)place, 1, n, MPI_INT, out, 0, n, MPI_INT, schedule);
    EXPECT(NBC_Sched_commit(schedule) == NBC_OK);
    for (again = 0; again < 50; ++again) {
        for (i = 0; i < n; ++i) in[i] = again + i * (rank + 1), out[i] = -1;
        EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
        handle.tmpbuf = malloc(2 * sizeof in);
        EXPECT(NBC_Start(&handle, schedule) == NBC_OK);
        EXPECT(NBC_Wait(&handle, &status) == NBC_OK && handle.tmpbuf == NULL);
        for (i = 0; i < n; ++i)
            EXPECT(out[i] == (rank == 0 ? ranks * again + i * ranks * (ranks + 1) / 2 : -1));
    }
    NBC_Sched_free(schedule);
    free(schedule);
}

/* Every place that the result of an op may have, messages of a rank to itself, and to nobody. */
static void own_steps(void) {
    double a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, c[4] = {0, 0, 0, 0}, d[4], e[4], f[4];
    int i;
    NBC_Schedule schedule;
    NBC_Sched_create(&schedule);
    NBC_Sched_recv(d, 0, 4, MPI_DOUBLE, rank, &schedule);              /* the first to itself */
    NBC_Sched_op(c, 0, a, 0, b, 0, 4, MPI_DOUBLE, MPI_SUM, &schedule); /* elsewhere: 11 22 33 44 */
    NBC_Sched_op(a, 0, a, 0, c, 0, 4, MPI_DOUBLE, MPI_SUM, &schedule); /* the left one: 12 24 .. */
    NBC_Sched_op(b, 0, a, 0, b, 0, 4, MPI_DOUBLE, MPI_SUM, &schedule); /* the right one: 22 44 .. */
    NBC_Sched_send(b, 0, 4, MPI_DOUBLE, rank, &schedule);
    NBC_Sched_send(c, 0, 4, MPI_DOUBLE, rank, &schedule); /* the second */
    NBC_Sched_recv(e, 0, 4, MPI_DOUBLE, rank, &schedule);
    NBC_Sched_send(a, 0, 4, MPI_DOUBLE, MPI_PROC_NULL, &schedule);
    NBC_Sched_recv(a, 0, 4, MPI_DOUBLE, MPI_PROC_NULL, &schedule);
    NBC_Sched_barrier(&schedule);
    NBC_Sched_barrier(&schedule);                                      /* an empty round */
    NBC_Sched_op(f, 0, d, 0, d, 0, 4, MPI_DOUBLE, MPI_SUM, &schedule); /* with itself: 44 88 .. */
    NBC_Sched_copy(f, 0, 2, MPI_DOUBLE, d, 0, 4, MPI_DOUBLE, &schedule);
    NBC_Sched_copy(f, 0, 4, MPI_DOUBLE, f, 0, 4, MPI_DOUBLE, &schedule);
    NBC_Sched_copy(NULL, 0, 0, MPI_DOUBLE, NULL, 0, 0, MPI_DOUBLE, &schedule);
    EXPECT(NBC_Sched_commit(&schedule) == NBC_OK);
    EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
    EXPECT(NBC_Start(&handle, &schedule) == NBC_OK && NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < 4; ++i) {
        EXPECT(c[i] == 11 * (i + 1) && a[i] == 12 * (i + 1) && b[i] == 22 * (i + 1));
        EXPECT(e[i] == 11 * (i + 1) && f[i] == 44 * (i + 1));
        EXPECT(d[i] == (i < 2 ? 44 : 22) * (i + 1));
    }
    NBC_Sched_free(&schedule);
    /* An empty one. */
    NBC_Sched_create(&schedule);
    EXPECT(NBC_Sched_commit(&schedule) == NBC_OK);
    EXPECT(NBC_Init_handle(&handle, MPI_COMM_WORLD) == NBC_OK);
    EXPECT(NBC_Start(&handle, &schedule) == NBC_OK && NBC_Wait(&handle, &status) == NBC_OK);
    NBC_Sched_free(&schedule);
}

/* --- Neighbors ------------------------------------------------------------------------------- */

static void exchange_with_neighbors(MPI_Comm comm, int n) {
    int which, k, indegree, outdegree, weighted, counts[max_ranks], displs[max_ranks],
        to[max_ranks], to_displs[max_ranks], sources[max_ranks], destinations[max_ranks],
        weights[max_ranks], other_weights[max_ranks];
    EXPECT(NBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted) == NBC_OK);
    EXPECT(NBC_Comm_neighbors(comm, max_ranks, sources, weights, max_ranks, destinations,
                              other_weights) == NBC_OK);
    for (which = 0; which < types; ++which) {
        MPI_Datatype type = type_of(which);
        /* An edge's block has as many elements as its ranks add up to. */
        for (k = 0; k < indegree; ++k) {
            counts[k] = sources[k] == MPI_PROC_NULL ? 0 : n * (1 + (sources[k] + rank) % 2);
            displs[k] = 2 * n * (indegree - 1 - k);
        }
        for (k = 0; k < outdegree; ++k) {
            to[k] = destinations[k] == MPI_PROC_NULL ? 0 : n * (1 + (destinations[k] + rank) % 2);
            to_displs[k] = 2 * n * k;
        }
        COMPARE(MPI_Neighbor_allgather(sent, n, type, theirs, n, type, comm),
                NBC_Ineighbor_allgather(sent, n, type, ours, n, type, comm, &handle), which, n);
        COMPARE(MPI_Neighbor_alltoall(sent, n, type, theirs, n, type, comm),
                NBC_Ineighbor_xchg(sent, n, type, ours, n, type, comm, &handle), which, n);
        COMPARE(
            MPI_Neighbor_alltoallv(sent, to, to_displs, type, theirs, counts, displs, type, comm),
            NBC_Ineighbor_xchgv(sent, to, to_displs, type, ours, counts, displs, type, comm,
                                &handle),
            which, n);
        for (k = 0; k < indegree; ++k) counts[k] = n;
        COMPARE(MPI_Neighbor_allgatherv(sent, n, type, theirs, counts, displs, type, comm),
                NBC_Ineighbor_allgatherv(sent, n, type, ours, counts, displs, type, comm, &handle),
                which, n);
        free_type(which, &type);
    }
}

static void exchange_types_with_neighbors(MPI_Comm comm) {
    int indegree, outdegree, weighted, k, sources[max_ranks], destinations[max_ranks],
        weights[max_ranks];
    NBC_Comm_neighbors_count(comm, &indegree, &outdegree, &weighted);
    NBC_Comm_neighbors(comm, max_ranks, sources, weights, max_ranks, destinations, weights);
    for (k = 0; k < indegree; ++k)
        describe_block(k, sources[k] == MPI_PROC_NULL ? rank : sources[k], 3);
    COMPARE(MPI_Neighbor_alltoallw(sent, block_counts, block_places, block_types, theirs,
                                   block_counts, block_places, block_types, comm),
            NBC_Ineighbor_alltoallw(sent, block_counts, block_places, block_types, ours,
                                    block_counts, block_places, block_types, comm, &handle),
            0, 3);
    forget_blocks(indegree);
}

static void neighbors(void) {
    int dims[2] = {0, 0}, ring[2] = {1, 0}, periods[2] = {0, 0}, sources[2], destinations[2];
    int weights[2] = {1, 1}, out[2], in[2] = {-1, -1}, i;
    MPI_Comm comm;
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    exchange_with_neighbors(comm, 0);
    exchange_with_neighbors(comm, 9);
    exchange_types_with_neighbors(comm);
    EXPECT(NBC_Ibarrier(comm, &handle) == NBC_OK && NBC_Wait(&handle, &status) == NBC_OK);
    MPI_Comm_free(&comm);
    /* A ring. Of fewer than three ranks the MPIs do not agree which block comes from above. */
    ring[0] = ranks, ring[1] = 1, periods[0] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, ring, periods, 0, &comm);
    if (ranks > 2) exchange_with_neighbors(comm, 9);
    out[0] = 2 * rank, out[1] = 2 * rank + 1;
    {
        int from[4] = {-1, -1, -1, -1}, to[4] = {0, 0, 0, 0};
        to[0] = out[0], to[1] = out[1];
        EXPECT(NBC_Ineighbor_alltoall(to, 1, MPI_INT, from, 1, MPI_INT, comm, &handle) == NBC_OK);
        EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
        EXPECT(from[0] == 2 * ((rank + ranks - 1) % ranks) + 1 && from[2] == -1);
        EXPECT(from[1] == 2 * ((rank + 1) % ranks) && from[3] == -1);
    }
    EXPECT(NBC_Icart_shift_xchg(out, 2, MPI_INT, in, 2, MPI_INT, 0, 1, comm, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < 2; ++i) EXPECT(in[i] == 2 * ((rank + ranks - 1) % ranks) + i);
    EXPECT(NBC_Icart_shift_xchg(out, 2, MPI_INT, out, 2, MPI_INT, 0, -1, comm, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < 2; ++i) EXPECT(out[i] == 2 * ((rank + 1) % ranks) + i);
    EXPECT(NBC_Icart_shift_xchg(out, 2, MPI_INT, in, 2, MPI_INT, 1, 1, comm, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK); /* nobody is there */
    MPI_Comm_free(&comm);
    sources[0] = sources[1] = (rank + ranks - 1) % ranks; /* twice from the left, to the right */
    destinations[0] = destinations[1] = (rank + 1) % ranks;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, destinations, weights,
                                   MPI_INFO_NULL, 0, &comm);
    exchange_with_neighbors(comm, 9);
    MPI_Comm_free(&comm);
    { /* a star around rank 0 */
        int index[max_ranks], edges[2 * max_ranks];
        for (i = 0; i < ranks; ++i) index[i] = ranks - 1 + i;
        for (i = 0; i < ranks - 1; ++i) edges[i] = i + 1, edges[ranks - 1 + i] = 0;
        MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &comm);
        exchange_with_neighbors(comm, 9);
        MPI_Comm_free(&comm);
    }
}

/* --- Programs of the paper ------------------------------------------------------------------- */

/* Section 5.1: blocks are compressed (here: run lengths) and gathered while the next one is compressed. */
static int compress_block(const unsigned char* in, int bytes, unsigned char* out) {
    int i, length, written = 0;
    for (i = 0; i < bytes; i += length) {
        for (length = 1; i + length < bytes && length < 255 && in[i + length] == in[i];) ++length;
        out[written++] = (unsigned char)length;
        out[written++] = in[i];
    }
    return written;
}

static void compression(void) {
    enum { blocks = 6, block = 3000, most = 2 * block };
    static unsigned char packed[blocks][most], all[blocks][max_ranks * most], again[most];
    static int sizes[blocks], all_sizes[blocks][max_ranks], displs[max_ranks];
    static unsigned char in[block];
    NBC_Handle of_sizes[blocks], of_data[blocks];
    int b, i, r;
    for (r = 0; r < ranks; ++r) displs[r] = r * most;
    for (b = 0; b <= blocks; ++b) {
        if (b < blocks) {
            for (i = 0; i < block; ++i)
                in[i] = (unsigned char)((i / (10 + 3 * b)) * (rank + 1) + b);
            sizes[b] = compress_block(in, block, packed[b]);
            EXPECT(NBC_Iallgather(&sizes[b], 1, MPI_INT, all_sizes[b], 1, MPI_INT, MPI_COMM_WORLD,
                                  &of_sizes[b]) == NBC_OK);
        }
        if (b > 0) { /* the sizes of the block before have come meanwhile */
            EXPECT(NBC_Wait(&of_sizes[b - 1]) == NBC_OK);
            EXPECT(NBC_Igatherv(packed[b - 1], sizes[b - 1], MPI_BYTE, all[b - 1], all_sizes[b - 1],
                                displs, MPI_BYTE, 0, MPI_COMM_WORLD, &of_data[b - 1]) == NBC_OK);
        }
    }
    for (b = 0; b < blocks; ++b) EXPECT(NBC_Wait(&of_data[b]) == NBC_OK);
    for (b = 0; b < blocks && rank == 0; ++b) {
        for (r = 0; r < ranks; ++r) {
            for (i = 0; i < block; ++i) in[i] = (unsigned char)((i / (10 + 3 * b)) * (r + 1) + b);
            EXPECT(compress_block(in, block, again) == all_sizes[b][r]);
            EXPECT(memcmp(again, all[b] + displs[r], (size_t)all_sizes[b][r]) == 0);
        }
    }
}

/* Section 5.3: a conjugate gradient solver for Poisson's equation in three dimensions. The halo is exchanged with
   NBC_Ialltoallv while the inner points are computed; the sums are nonblocking, too. */
enum { edge = 6, planes = edge + 2 }; /* of a rank: edge^3 points with a halo around */
typedef double Grid[planes][planes][planes];

static MPI_Comm grid_comm;
static int below[3], above[3];

static double sum_of_all(double part) {
    double all = 0;
    EXPECT(NBC_Iallreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, grid_comm, &handle) == NBC_OK);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    return all;
}

static double* face(Grid grid, int d, int plane, int i, int j) {
    return d == 0 ? &grid[plane][i][j] : d == 1 ? &grid[i][plane][j] : &grid[i][j][plane];
}

static void apply_at(Grid in, Grid out, int x, int y, int z) {
    out[x][y][z] = 6 * in[x][y][z] - in[x - 1][y][z] - in[x + 1][y][z] - in[x][y - 1][z] -
                   in[x][y + 1][z] - in[x][y][z - 1] - in[x][y][z + 1];
}

/* out = A in, for the 7-point stencil. */
static void apply(Grid in, Grid out) {
    static double faces[2][6 * edge * edge];
    int counts[max_ranks], displs[max_ranks], at[max_ranks];
    int d, side, i, j, x, y, z, place = 0, to;
    memset(counts, 0, sizeof counts);
    for (d = 0; d < 3; ++d) {
        for (side = 0; side < 2; ++side) {
            to = side ? above[d] : below[d];
            if (to != MPI_PROC_NULL) counts[to] += edge * edge;
        }
    }
    for (i = 0; i < ranks; ++i) at[i] = displs[i] = place, place += counts[i];
    for (d = 0; d < 3; ++d) {
        for (side = 0; side < 2; ++side) {
            to = side ? above[d] : below[d];
            if (to == MPI_PROC_NULL) continue;
            for (i = 0; i < edge; ++i)
                for (j = 0; j < edge; ++j)
                    faces[0][at[to]++] = *face(in, d, side ? edge : 1, i + 1, j + 1);
        }
    }
    EXPECT(NBC_Ialltoallv(faces[0], counts, displs, MPI_DOUBLE, faces[1], counts, displs,
                          MPI_DOUBLE, grid_comm, &handle) == NBC_OK);
    for (x = 2; x < edge; ++x)
        for (y = 2; y < edge; ++y)
            for (z = 2; z < edge; ++z) apply_at(in, out, x, y, z);
    EXPECT(NBC_Wait(&handle, &status) == NBC_OK);
    for (i = 0; i < ranks; ++i) at[i] = displs[i];
    for (d = 0; d < 3; ++d) {
        for (side = 0; side < 2; ++side) {
            to = side ? above[d] : below[d];
            for (i = 0; i < edge; ++i)
                for (j = 0; j < edge; ++j)
                    *face(in, d, side ? edge + 1 : 0, i + 1, j + 1) =
                        to == MPI_PROC_NULL ? 0 : faces[1][at[to]++];
        }
    }
    for (x = 1; x <= edge; ++x)
        for (y = 1; y <= edge; ++y)
            for (z = 1; z <= edge; ++z)
                if (x == 1 || y == 1 || z == 1 || x == edge || y == edge || z == edge)
                    apply_at(in, out, x, y, z);
}

#define FOR_ALL_POINTS              \
    for (x = 1; x <= edge; ++x)     \
        for (y = 1; y <= edge; ++y) \
            for (z = 1; z <= edge; ++z)

static void poisson(void) {
    static Grid u, r, p, q;
    int dims[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, coords[3], d, x, y, z, steps;
    double rr = 0, part, alpha, beta, before, error = 0;
    MPI_Dims_create(ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid_comm);
    MPI_Cart_coords(grid_comm, rank, 3, coords);
    for (d = 0; d < 3; ++d) MPI_Cart_shift(grid_comm, d, 1, &below[d], &above[d]);
    /* The right side of a known solution. */
    FOR_ALL_POINTS p[x][y][z] =
        (coords[0] * edge + x) * 0.5 + (coords[1] * edge + y) % 3 + sin(coords[2] * edge + z);
    apply(p, r);
    part = 0;
    FOR_ALL_POINTS {
        q[x][y][z] = p[x][y][z]; /* the solution */
        u[x][y][z] = 0;
        p[x][y][z] = r[x][y][z];
        part += r[x][y][z] * r[x][y][z];
    }
    {
        static Grid solution;
        memcpy(solution, q, sizeof q);
        rr = sum_of_all(part);
        for (steps = 0; rr > 1e-20 && steps < 500; ++steps) {
            apply(p, q);
            part = 0;
            FOR_ALL_POINTS part += p[x][y][z] * q[x][y][z];
            alpha = rr / sum_of_all(part);
            part = 0;
            FOR_ALL_POINTS {
                u[x][y][z] += alpha * p[x][y][z];
                r[x][y][z] -= alpha * q[x][y][z];
                part += r[x][y][z] * r[x][y][z];
            }
            before = rr;
            rr = sum_of_all(part);
            beta = rr / before;
            FOR_ALL_POINTS p[x][y][z] = r[x][y][z] + beta * p[x][y][z];
        }
        FOR_ALL_POINTS error = fmax(error, fabs(u[x][y][z] - solution[x][y][z]));
    }
    EXPECT(steps > 10 && steps < 500 && error < 1e-8);
    MPI_Comm_free(&grid_comm);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } all[] = {
        {"collectives", collectives},
        {"types_on_two_sides", types_on_two_sides},
        {"reductions", reductions},
        {"own_operations", own_operations},
        {"refused", refused},
        {"communicators", communicators},
        {"a_part_first", a_part_first},
        {"weft_of_the_program", weft_of_the_program},
        {"two_units", two_units},
        {"many", many},
        {"mpi_works_meanwhile", mpi_works_meanwhile},
        {"own_barrier", own_barrier},
        {"own_ring", own_ring},
        {"own_reduce", own_reduce},
        {"own_steps", own_steps},
        {"blocks_of_several_types", blocks_of_several_types},
        {"neighbors", neighbors},
        {"compression", compression},
        {"poisson", poisson},
    };
    const size_t count = sizeof all / sizeof *all;
    size_t i;
    int k;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (k = 1; k < argc; ++k) {
        for (i = 0; i < count && strcmp(argv[k], all[i].name) != 0; ++i) continue;
        EXPECT(i < count);
        all[i].run();
    }
    MPI_Finalize();
    EXPECT(!weft_is_initialized());
    return 0;
}
