/* What weft_comm_from_mpi promises, one behaviour a run: NAME. Ends with status 1 and a sentence when
   it does not hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/mpi.h"
#include "weft/weft.h"

#define EXPECT(condition)                                                             \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "rank %d, line %d: %s; %s\n", rank, __LINE__, #condition, \
                    weft_last_detail());                                              \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static int rank, ranks;

/* The communicator has the ranks of `mpi` in their order, and works. */
static void expect_same(weft_comm comm, MPI_Comm mpi) {
    int expected_rank, expected_size, own_rank = -1, own_size = -1, i;
    int* numbers;
    int own = 100 + rank;
    int* expected;
    MPI_Comm_rank(mpi, &expected_rank);
    MPI_Comm_size(mpi, &expected_size);
    EXPECT(weft_comm_rank(comm, &own_rank) == WEFT_OK && own_rank == expected_rank);
    EXPECT(weft_comm_size(comm, &own_size) == WEFT_OK && own_size == expected_size);
    numbers = (int*)calloc((size_t)own_size, sizeof *numbers);
    expected = (int*)calloc((size_t)own_size, sizeof *expected);
    EXPECT(weft_allgather(&own, numbers, 1, WEFT_INT32, comm) == WEFT_OK);
    MPI_Allgather(&own, 1, MPI_INT, expected, 1, MPI_INT, mpi);
    for (i = 0; i < own_size; ++i) EXPECT(numbers[i] == expected[i]);
    free(numbers);
    free(expected);
}

static int detail_has(const char* part) { return strstr(weft_last_detail(), part) != NULL; }

static void job_is_the_group(void) {
    weft_comm comm = WEFT_COMM_NULL;
    EXPECT(!weft_is_initialized());
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    EXPECT(weft_is_initialized());
    expect_same(comm, MPI_COMM_WORLD);
    expect_same(weft_comm_world(), MPI_COMM_WORLD);
    EXPECT(comm != weft_comm_world());
    EXPECT(weft_init() == WEFT_REFUSED_STATE);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
    /* Once a job. */
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_REFUSED_STATE &&
           comm == WEFT_COMM_NULL);
    EXPECT(detail_has("has finalized Weft"));
}

/* A communicator with the ranks of `mpi`, made without messages. */
static void expect_members_as(MPI_Comm mpi) {
    weft_members members = {0};
    weft_comm comm;
    int* numbers;
    MPI_Comm_size(mpi, &members.ranks);
    numbers = (int*)calloc((size_t)members.ranks, sizeof *numbers);
    MPI_Allgather(&rank, 1, MPI_INT, numbers, 1, MPI_INT, mpi);
    members.struct_bytes = sizeof members;
    members.number = (uint64_t)numbers[0]; /* others have other first ranks */
    members.world_ranks = numbers;
    EXPECT(weft_expect_comms(1) == WEFT_OK);
    MPI_Barrier(mpi);
    EXPECT(weft_comm_from_members(&members, &comm) == WEFT_OK);
    EXPECT(weft_expect_comms(0) == WEFT_OK);
    expect_same(comm, mpi);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    free(numbers);
}

/* Later communicators: in another order, halves at the same time, one that is not freed. */
static void later_ones(void) {
    weft_comm world, comm;
    MPI_Comm backwards, half;
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &world) == WEFT_OK);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    EXPECT(weft_comm_from_mpi(backwards, &comm) == WEFT_OK);
    expect_same(comm, backwards);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    expect_members_as(backwards);
    expect_members_as(half);
    EXPECT(weft_comm_from_mpi(half, &comm) == WEFT_OK);
    MPI_Comm_free(&backwards);
    expect_same(comm, half);
    MPI_Comm_free(&half);
    EXPECT(weft_comm_from_mpi(MPI_COMM_SELF, &comm) == WEFT_OK);
    expect_same(comm, MPI_COMM_SELF);
    expect_same(world, MPI_COMM_WORLD);
    EXPECT(weft_finalize() == WEFT_OK);
}

/* Some ranks are a job, the others are another one; there are communicators of both. */
static void jobs_of_halves(void) {
    weft_comm comm = WEFT_COMM_NULL;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    EXPECT(weft_comm_from_mpi(half, &comm) == WEFT_OK);
    expect_same(weft_comm_world(), half);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    expect_same(comm, MPI_COMM_WORLD);
    expect_same(weft_comm_world(), half);
    EXPECT(weft_finalize() == WEFT_OK);
}

static void some_are_initialized(void) {
    weft_comm comm = WEFT_COMM_NULL;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    if (rank % 2 == 1) EXPECT(weft_comm_from_mpi(half, &comm) == WEFT_OK);
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    expect_same(comm, MPI_COMM_WORLD);
    EXPECT(weft_finalize() == WEFT_OK);
}

/* The launcher's way first, between MPI_Init and MPI_Finalize. */
static void after_weft_init(void) {
    weft_comm comm;
    EXPECT(weft_init() == WEFT_OK);
    expect_same(weft_comm_world(), MPI_COMM_WORLD);
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    expect_same(comm, MPI_COMM_WORLD);
    EXPECT(weft_finalize() == WEFT_OK);
}

static void refused(void) {
    weft_comm comm = WEFT_COMM_NULL;
    weft_oob strange = {0};
    EXPECT(weft_comm_from_mpi(MPI_COMM_NULL, &comm) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, NULL) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_comm_from_oob(&strange, &comm) == WEFT_REFUSED_ARGUMENT);
    EXPECT(!weft_is_initialized() && comm == WEFT_COMM_NULL);
}

/* WEFT_TRANSPORT=mpi and a level that allows one thread: who asks for the thread is refused. */
static void one_thread(void) {
    weft_comm comm = WEFT_COMM_NULL;
    if (getenv("WEFT_ENGINE") != NULL) {
        EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_REFUSED_UNSUPPORTED);
        EXPECT(detail_has("MPI_THREAD_MULTIPLE") && comm == WEFT_COMM_NULL);
        return;
    }
    EXPECT(weft_comm_from_mpi(MPI_COMM_WORLD, &comm) == WEFT_OK);
    EXPECT(weft_get_engine() == WEFT_ENGINE_MANUAL);
    EXPECT(weft_set_engine(WEFT_ENGINE_THREAD) == WEFT_REFUSED_UNSUPPORTED);
    EXPECT(detail_has("MPI_THREAD_MULTIPLE"));
    EXPECT(weft_get_engine() == WEFT_ENGINE_MANUAL);
    expect_same(comm, MPI_COMM_WORLD);
    EXPECT(weft_finalize() == WEFT_OK);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } all[] = {
        {"job_is_the_group", job_is_the_group},
        {"later_ones", later_ones},
        {"jobs_of_halves", jobs_of_halves},
        {"some_are_initialized", some_are_initialized},
        {"after_weft_init", after_weft_init},
        {"refused", refused},
        {"one_thread", one_thread},
    };
    size_t i;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 0; i < sizeof all / sizeof *all; ++i) {
        if (argc != 2 || strcmp(argv[1], all[i].name) != 0) continue;
        all[i].run();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "usage: NAME\n");
    return 1;
}
