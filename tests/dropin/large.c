/* Counts, displacements and bytes that an int does not hold. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "corpus.h"

/* Memory that is committed only where it is touched. */
static char* sparse(size_t bytes) {
    char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void finish(MPI_Request* request, const char* what) {
    doing("%s", what);
    CALL(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Elements that are 4 GiB apart. */
static void large_extents(void) {
    const MPI_Aint stride = (MPI_Aint)1 << 32;
    const int elements = 3;
    const size_t bytes = (size_t)stride * (size_t)(elements + 1) * (size_t)world_ranks;
    char *from = sparse(bytes), *into = sparse(bytes);
    int counts[MAX_RANKS], displs[MAX_RANKS], r, i;
    MPI_Datatype type;
    MPI_Request request;
    CALL(MPI_Type_create_resized(MPI_CHAR, 0, stride, &type));
    CALL(MPI_Type_commit(&type));
    for (i = 0; i < elements; ++i) from[i * stride] = (char)(1 + i);
    if (world_rank == 0) memcpy(into, from, 1);
    CALL(MPI_Ibcast(world_rank == 0 ? from : into, elements, type, 0, MPI_COMM_WORLD, &request));
    finish(&request, "bcast of elements 4 GiB apart");
    for (i = 0; i < elements && world_rank > 0; ++i) CHECK(into[i * stride] == 1 + i);

    for (i = 0; i < elements; ++i) from[i * stride] = (char)(10 * world_rank + i);
    for (r = 0; r < world_ranks; ++r) counts[r] = elements, displs[r] = r * (elements + 1);
    CALL(MPI_Iallgatherv(from, elements, type, into, counts, displs, type, MPI_COMM_WORLD,
                         &request));
    finish(&request, "allgatherv of elements 4 GiB apart");
    for (r = 0; r < world_ranks; ++r) {
        for (i = 0; i < elements; ++i) CHECK(into[(displs[r] + i) * stride] == (char)(10 * r + i));
    }
    for (r = 0; r < world_ranks; ++r) {
        counts[r] = 1;
        from[displs[r] * stride] = (char)(100 + 8 * world_rank + r);
    }
    CALL(MPI_Ialltoallv(from, counts, displs, type, into, counts, displs, type, MPI_COMM_WORLD,
                        &request));
    finish(&request, "alltoallv of elements 4 GiB apart");
    for (r = 0; r < world_ranks; ++r)
        CHECK(into[displs[r] * stride] == (char)(100 + 8 * r + world_rank));
    CALL(MPI_Type_free(&type));
    munmap(from, bytes);
    munmap(into, bytes);
}

/* More elements than an int counts, without a byte; displacements beyond it. */
static void large_counts(void) {
#if HAS_LARGE
    const MPI_Count many = ((MPI_Count)1 << 40) + 3;
    const MPI_Aint far = (MPI_Aint)1 << 33;
    const size_t bytes = (size_t)far * (size_t)world_ranks + 8;
    MPI_Count counts[MAX_RANKS];
    MPI_Aint displs[MAX_RANKS];
    char mine = (char)(world_rank + 1), *into = sparse(bytes), none = 7;
    MPI_Datatype empty;
    MPI_Request request;
    int r;
    CALL(MPI_Type_contiguous(0, MPI_INT, &empty));
    CALL(MPI_Type_commit(&empty));
    CALL(MPI_Ibcast_c(&none, many, empty, 0, MPI_COMM_WORLD, &request));
    finish(&request, "bcast of 2^40 elements of 0 bytes");
    CALL(MPI_Ialltoall_c(&none, many, empty, into, many, empty, MPI_COMM_WORLD, &request));
    finish(&request, "alltoall of 2^40 elements of 0 bytes");
    CHECK(none == 7 && into[0] == 0);
    for (r = 0; r < world_ranks; ++r) counts[r] = 1, displs[r] = r * far + 1;
    CALL(MPI_Iallgatherv_c(&mine, 1, MPI_CHAR, into, counts, displs, MPI_CHAR, MPI_COMM_WORLD,
                           &request));
    finish(&request, "allgatherv with displacements of 2^33");
    for (r = 0; r < world_ranks; ++r) {
        CHECK(into[r * far + 1] == r + 1);
        into[r * far] = (char)(8 * world_rank + r);
    }
    for (r = 0; r < world_ranks; ++r) displs[r] = r * far;
    CALL(MPI_Ialltoallv_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, into, counts, displs,
                          MPI_CHAR, MPI_COMM_WORLD, &request));
    finish(&request, "alltoallv in place with displacements of 2^33");
    for (r = 0; r < world_ranks; ++r) CHECK(into[r * far] == 8 * r + world_rank);
    CALL(MPI_Type_free(&empty));
    munmap(into, bytes);
#endif
}

/* --- Two GiB and more: for ranks that have that much memory ------------------------------------------ */

#define HUGE_WORDS (((size_t)1 << 28) + 1) /* of 8 bytes: 2 GiB and one word */

static void fill_words(uint64_t* words, Word key) {
    size_t i;
    for (i = 0; i < HUGE_WORDS; ++i) words[i] = (i + 1) * (key * 2 + 1);
}
static int are_words(const uint64_t* words, Word key) {
    size_t i;
    for (i = 0; i < HUGE_WORDS; ++i) {
        if (words[i] != (i + 1) * (key * 2 + 1)) return 0;
    }
    return 1;
}

static uint64_t* huge_memory(void) {
    uint64_t* words = malloc(HUGE_WORDS * sizeof *words);
    CHECK(words != NULL);
    return words;
}

/* An int counts its elements, but not its bytes. */
static void huge_bytes(void) {
    uint64_t* words = huge_memory();
    MPI_Datatype kib;
    MPI_Request request;
    CALL(MPI_Type_contiguous(1024, MPI_CHAR, &kib));
    CALL(MPI_Type_commit(&kib));
    fill_words(words, world_rank == 0);
    CALL(MPI_Ibcast(words, 1 << 21, kib, 0, MPI_COMM_WORLD, &request));
    finish(&request, "bcast of 2 GiB");
    words[HUGE_WORDS - 1] = HUGE_WORDS * 3;
    CHECK(are_words(words, 1));
    CALL(MPI_Type_free(&kib));
    free(words);
}

static void huge_bcast(void) {
#if HAS_LARGE
    uint64_t* words = huge_memory();
    MPI_Request request;
    fill_words(words, world_rank == 0 ? 5 : 0);
    CALL(MPI_Ibcast_c(words, (MPI_Count)(HUGE_WORDS * 8), MPI_BYTE, 0, MPI_COMM_WORLD, &request));
    finish(&request, "bcast of 2^31 + 8 bytes");
    CHECK(are_words(words, 5));
    free(words);
#else
    (void)are_words;
#endif
}

#if HAS_LARGE
static void reduce_huge(MPI_Op op, const char* what) {
    unsigned char* bytes = (unsigned char*)huge_memory();
    MPI_Request request;
    size_t i;
    memset(bytes, 1 + world_rank, HUGE_WORDS * 8);
    CALL(MPI_Iallreduce_c(MPI_IN_PLACE, bytes, (MPI_Count)(HUGE_WORDS * 8), MPI_UNSIGNED_CHAR, op,
                          MPI_COMM_WORLD, &request));
    finish(&request, what);
    for (i = 0; i < HUGE_WORDS * 8; ++i) {
        if (bytes[i] != world_ranks * (world_ranks + 1) / 2) break;
    }
    CHECK(i == HUGE_WORDS * 8);
    free(bytes);
}

static void add_bytes(void* in, void* inout, int* count, MPI_Datatype* type) {
    const unsigned char* from = in;
    unsigned char* into = inout;
    int i;
    (void)type;
    for (i = 0; i < *count; ++i) into[i] = (unsigned char)(into[i] + from[i]);
}
#endif

static void huge_reduction(void) {
#if HAS_LARGE
    reduce_huge(MPI_SUM, "allreduce of 2^31 + 8 elements");
#endif
}

static void huge_user_operation(void) {
#if HAS_LARGE
    MPI_Op op;
    CALL(MPI_Op_create(add_bytes, 1, &op));
    reduce_huge(op, "allreduce of 2^31 + 8 elements by a user's operation");
    CALL(MPI_Op_free(&op));
#endif
}

const Section large_sections[] = {
    {"large_extents", large_extents, "elements that are 4 GiB apart"},
    {"large_counts", large_counts, "2^40 elements without a byte, displacements of 2^33"},
    {"huge_bytes", huge_bytes, "2 GiB of elements that an int counts; 5 GiB of memory for a rank"},
    {"huge_bcast", huge_bcast, "2^31 + 8 elements, as much memory"},
    {"huge_reduction", huge_reduction, "the same of a reduction"},
    {"huge_user_operation", huge_user_operation, "the same by an operation of the program"},
    {NULL, NULL, NULL}};
