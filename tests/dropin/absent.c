/* Functions that the MPI's header may not declare. A program that finds them when it runs can call them. */
#include "corpus.h"

#if !HAS_LARGE
extern int MPI_Alltoallv_c() __attribute__((weak));
extern int MPI_Bcast_c() __attribute__((weak));
extern int MPI_Gather_c() __attribute__((weak));
extern int MPI_Ialltoallv_c() __attribute__((weak));
extern int MPI_Igatherv_c() __attribute__((weak));
#endif
#if !HAS_STATUS_OF_LISTS
extern int MPI_Request_get_status_all() __attribute__((weak));
extern int MPI_Request_get_status_any() __attribute__((weak));
extern int MPI_Request_get_status_some() __attribute__((weak));
#endif
#if !HAS_PERSISTENT
extern int MPI_Barrier_init() __attribute__((weak));
extern int MPI_Allreduce_init() __attribute__((weak));
extern int MPI_Comm_idup_with_info() __attribute__((weak));
#endif

static int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* Arguments that a rank's call does not use hold anything; counts that an int does not hold are refused. */
static void large_arguments(void) {
    const MPI_Count large = ((MPI_Count)1 << 40) + 1;
    MPI_Count *const nowhere = (MPI_Count*)8, counts[MAX_RANKS];
    MPI_Aint* const nowhere_else = (MPI_Aint*)8;
    MPI_Aint displs[MAX_RANKS];
    const int is_root = world_rank == world_ranks - 1;
    int all[MAX_RANKS], r, mine = world_rank, code;
    MPI_Request request;
    MPI_Comm comm;
    if (!has_large()) return;
    for (r = 0; r < world_ranks; ++r) counts[r] = 1, displs[r] = world_ranks - 1 - r;
    doing("gather_c with counts that only the root uses");
    CALL(MPI_Gather_c(&mine, (MPI_Count)1, MPI_INT, all, is_root ? (MPI_Count)1 : large, MPI_INT,
                      world_ranks - 1, MPI_COMM_WORLD));
    for (r = 0; r < world_ranks && is_root; ++r) CHECK(all[r] == r);
    doing("igatherv_c with arrays that only the root uses");
    CALL(MPI_Igatherv_c(&mine, (MPI_Count)1, MPI_INT, all, is_root ? counts : nowhere,
                        is_root ? displs : nowhere_else, MPI_INT, world_ranks - 1, MPI_COMM_WORLD,
                        &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (r = 0; r < world_ranks && is_root; ++r) CHECK(all[world_ranks - 1 - r] == r);
    for (r = 0; r < world_ranks; ++r) {
        all[world_ranks - 1 - r] = 10 * world_rank + r;
        counts[r] = 1;
    }
    doing("alltoallv_c in place");
    CALL(MPI_Alltoallv_c(MPI_IN_PLACE, nowhere, nowhere_else, MPI_DATATYPE_NULL, all, counts,
                         displs, MPI_INT, MPI_COMM_WORLD));
    for (r = 0; r < world_ranks; ++r) CHECK(all[world_ranks - 1 - r] == 10 * r + world_rank);
    if (HAS_LARGE) return;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    doing("bcast_c of 2^40 + 1 elements");
    code = MPI_Bcast_c(all, large, MPI_INT, 0, comm);
    CHECK(class_of(code) == MPI_ERR_COUNT);
    doing("ialltoallv_c with displacements of 2^40");
    displs[world_ranks - 1] = (MPI_Aint)large;
    code = MPI_Ialltoallv_c(all, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm,
                            &request);
    CHECK(class_of(code) == MPI_ERR_COUNT);
    CALL(MPI_Comm_free(&comm));
}

/* Between the first rank and the others: arrays are as long as the other group. */
static void large_between_groups(void) {
    const int is_first = world_rank == 0, others = is_first ? world_ranks - 1 : 1;
    const int root = !is_first ? 0 : MPI_ROOT;
    int from[MAX_RANKS], into[MAX_RANKS], r;
    MPI_Count counts[MAX_RANKS];
    MPI_Aint displs[MAX_RANKS];
    MPI_Comm group, between;
    MPI_Request request;
    if (!has_large() || world_ranks < 2) return;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, is_first, world_rank, &group));
    CALL(MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_first, 5, &between));
    for (r = 0; r < others; ++r) {
        from[r] = 10 * world_rank + r;
        counts[r] = 1, displs[r] = others - 1 - r;
    }
    doing("ialltoallv_c between groups");
    CALL(MPI_Ialltoallv_c(from, counts, displs, MPI_INT, into, counts, displs, MPI_INT, between,
                          &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (r = 0; r < others; ++r) {
        const int sender = is_first ? r + 1 : 0, blocks = is_first ? 1 : world_ranks - 1;
        const int mine = is_first ? 0 : world_rank - 1;
        CHECK(into[others - 1 - r] == 10 * sender + blocks - 1 - mine);
    }
    doing("igatherv_c between groups");
    CALL(MPI_Igatherv_c(&world_rank, (MPI_Count)1, MPI_INT, into, is_first ? counts : NULL,
                        is_first ? displs : NULL, MPI_INT, root, between, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (r = 0; r < others && is_first; ++r) CHECK(into[others - 1 - r] == r + 1);
    CALL(MPI_Comm_free(&between));
    CALL(MPI_Comm_free(&group));
}

/* A message to oneself that has come, one that has not, and a null request. */
static void status_of_lists(void) {
    int in[2] = {0, 0}, out = 7, flag = 0, index = -1, number = -1, indices[3];
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
#if !HAS_STATUS_OF_LISTS
    if (!MPI_Request_get_status_all) return;
#endif
    doing("the status of null requests");
    statuses[0].MPI_ERROR = MPI_ERR_OTHER;
    CALL(MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]));
    CHECK(flag && index == MPI_UNDEFINED && statuses[0].MPI_TAG == MPI_ANY_TAG &&
          (HAS_STATUS_OF_LISTS || statuses[0].MPI_ERROR == MPI_SUCCESS));
    CALL(MPI_Request_get_status_some(3, requests, &number, indices, statuses));
    CHECK(number == MPI_UNDEFINED);
    CALL(MPI_Irecv(&in[0], 1, MPI_INT, world_rank, 1, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Irecv(&in[1], 1, MPI_INT, world_rank, 2, MPI_COMM_WORLD, &requests[2]));
    doing("the status of receives");
    CALL(MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]));
    CHECK(!flag);
    CALL(MPI_Send(&out, 1, MPI_INT, world_rank, 2, MPI_COMM_WORLD));
    for (flag = 0; !flag;)
        CALL(MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]));
    CHECK(index == 2 && statuses[0].MPI_SOURCE == world_rank && statuses[0].MPI_TAG == 2);
    CALL(MPI_Request_get_status_some(3, requests, &number, indices, statuses));
    CHECK(number == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 2);
    CALL(MPI_Request_get_status_some(3, requests, &number, indices, MPI_STATUSES_IGNORE));
    CHECK(number == 1 && indices[0] == 2);
    CALL(MPI_Request_get_status_all(3, requests, &flag, statuses));
    CHECK(!flag);
    CALL(MPI_Send(&out, 1, MPI_INT, world_rank, 1, MPI_COMM_WORLD));
    for (flag = 0; !flag;) CALL(MPI_Request_get_status_all(3, requests, &flag, statuses));
    CHECK(statuses[0].MPI_TAG == 1 && statuses[2].MPI_TAG == 2);
    CALL(MPI_Request_get_status_all(3, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == 7 && in[1] == 7);
}

static void persistent_collectives(void) {
    int sum = 0, one = 1, round;
    MPI_Request requests[2];
#if !HAS_PERSISTENT
    if (!MPI_Barrier_init) return;
#endif
    CALL(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    CALL(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[1]));
    doing("a persistent barrier and allreduce");
    for (round = 0; round < 3; ++round) {
        sum = 0;
        CALL(MPI_Startall(2, requests));
        CALL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(sum == world_ranks);
    }
    CALL(MPI_Request_free(&requests[0]));
    CALL(MPI_Request_free(&requests[1]));
}

static void idup_with_info(void) {
    int sum = 0, one = 1;
    MPI_Comm made;
    MPI_Request request;
#if !HAS_PERSISTENT
    if (!MPI_Comm_idup_with_info) return;
#endif
    CALL(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request));
    doing("idup_with_info");
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
    CHECK(sum == world_ranks);
    CALL(MPI_Comm_free(&made));
}

extern int MPIX_Request_is_complete(MPI_Request) __attribute__((weak));

/* MPICH's own. */
static void is_complete(void) {
    int sum = 0, one = 1, message = world_rank, left = 1 << 24;
    MPI_Request request;
    if (!MPIX_Request_is_complete) return;
    doing("MPIX_Request_is_complete of a collective");
    CALL(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == world_ranks);
    doing("MPIX_Request_is_complete of a message");
    CALL(MPI_Irecv(&message, 1, MPI_INT, world_rank, 0, MPI_COMM_WORLD, &request));
    CHECK(!MPIX_Request_is_complete(request));
    CALL(MPI_Send(&one, 1, MPI_INT, world_rank, 0, MPI_COMM_WORLD));
    while (!MPIX_Request_is_complete(request) && --left > 0)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &sum, MPI_STATUS_IGNORE);
    CHECK(left > 0);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(message == 1);
}

const Section absent_sections[] = {
    {"large_arguments", large_arguments, "unused and too large arguments of forms with MPI_Count"},
    {"large_between_groups", large_between_groups, "forms with MPI_Count on an intercommunicator"},
    {"status_of_lists", status_of_lists, "MPI_Request_get_status_all, _any and _some of messages"},
    {"persistent_collectives", persistent_collectives, "MPI_Barrier_init and MPI_Allreduce_init"},
    {"is_complete", is_complete, "MPIX_Request_is_complete of messages"},
    {"idup_with_info", idup_with_info, "MPI_Comm_idup_with_info"},
    {NULL, NULL, NULL}};
