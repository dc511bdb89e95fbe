/* Erroneous calls: with MPI_ERRORS_RETURN they give an error class, and nothing else happens. */
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

static int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* Invalid arguments give the MPI's own errors, and leave a communicator that works. */
static void invalid_arguments(void) {
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int in = world_rank, out = -1, six[6];
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    doing("a negative count");
    CHECK(class_of(MPI_Ibcast(&in, -1, MPI_INT, 0, comm, &request)) == MPI_ERR_COUNT);
    doing("a root that is no rank");
    CHECK(class_of(MPI_Ibcast(&in, 1, MPI_INT, world_ranks, comm, &request)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Ireduce(&in, &out, 1, MPI_INT, MPI_SUM, -7, comm, &request)) ==
          MPI_ERR_ROOT);
    doing("a null type");
    CHECK(class_of(MPI_Ibcast(&in, 1, MPI_DATATYPE_NULL, 0, comm, &request)) == MPI_ERR_TYPE);
    doing("a null operation");
    CHECK(class_of(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, comm, &request)) ==
          MPI_ERR_OP);
    doing("an operation that does not suit its type");
    CHECK(class_of(MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, comm, &request)) ==
          MPI_ERR_OP);
    doing("a type that is not committed");
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    CHECK(class_of(MPI_Ibcast(six, 1, type, 0, comm, &request)) == MPI_ERR_TYPE);
#if HAS_PERSISTENT
    CHECK(class_of(MPI_Bcast_init(six, 1, type, 0, comm, MPI_INFO_NULL, &request)) == MPI_ERR_TYPE);
#endif
    MPI_Type_free(&type);
    doing("MPI_IN_PLACE where something is received");
    CHECK(MPI_Iallgather(&in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm, &request) != MPI_SUCCESS);
    CALL(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request));
    doing("a communicator after errors");
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(out == world_ranks * (world_ranks - 1) / 2);
    CALL(MPI_Comm_free(&comm));
}

/* Lists of an operation that cannot end yet and of something that is no request, with results left from other calls.
   The operation goes on. (Open MPI crashes by itself.) */
static void lists_without_end(void) {
#ifndef OPEN_MPI
    static const char zero[sizeof(MPI_Request)];
    MPI_Request list[2];
    int way, token = 0;
    if (world_ranks < 2) return;
    for (way = 0; way < 4; ++way) {
        int flag = 1, number = 1, index = 0, code = MPI_SUCCESS;
        if (world_rank == 1)
            CALL(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &list[0]));
        memcpy(&list[1], zero, sizeof zero);
        if (world_rank == 0) {
            doing("a barrier that cannot end, and no request, %d", way);
            if (way == 0) code = MPI_Testany(2, list, &index, &flag, MPI_STATUS_IGNORE);
            if (way == 1) code = MPI_Waitany(2, list, &index, MPI_STATUS_IGNORE);
            if (way == 2) code = MPI_Testsome(2, list, &number, &index, MPI_STATUSES_IGNORE);
            if (way == 3) code = MPI_Waitsome(2, list, &number, &index, MPI_STATUSES_IGNORE);
            CHECK(class_of(code) == MPI_ERR_REQUEST);
            CALL(MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
        }
        CALL(MPI_Wait(&list[0], MPI_STATUS_IGNORE));
    }
#endif
}

/* Wrong lists of requests, while an operation is outstanding. */
static void invalid_lists(void) {
    MPI_Request barrier, *lists[2];
    int i, number, flag, index;
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
    lists[0] = &barrier, lists[1] = NULL;
    for (i = 0; i < 2; ++i) {
        MPI_Request* const list = lists[i];
        const int count = i == 0 ? -1 : 1;
        doing(i == 0 ? "a negative number of requests" : "no requests where some are announced");
        CHECK(MPI_Waitall(count, list, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Testall(count, list, &flag, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Waitany(count, list, &index, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Testany(count, list, &index, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Waitsome(count, list, &number, &index, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Testsome(count, list, &number, &index, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
        CHECK(MPI_Startall(count, list) != MPI_SUCCESS);
    }
    CALL(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
    lists_without_end();
}

/* Addresses that are null give the MPI's own errors. */
static void null_addresses(void) {
    void* volatile null = NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    int flag, index, number;
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    doing("null addresses");
#ifdef OPEN_MPI /* the others crash by themselves */
    CHECK(MPI_Type_free(null) != MPI_SUCCESS);
#endif
    CHECK(MPI_Op_free(null) != MPI_SUCCESS);
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, null, &request) != MPI_SUCCESS);
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    CHECK(MPI_Test(&request, null, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testall(1, &request, null, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testany(1, &request, null, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testany(1, &request, &index, null, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Waitany(1, &request, null, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testsome(1, &request, null, &index, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testsome(1, &request, &number, null, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Waitsome(1, &request, null, &index, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Waitsome(1, &request, &number, null, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Request_get_status(request, null, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    handled = class_of(*code);
}

static void error_handlers(void) {
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    MPI_Request request = MPI_REQUEST_NULL;
    int in = 0;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_create_errhandler(handler, &errhandler);
    CALL(MPI_Comm_set_errhandler(comm, errhandler));
    doing("an error handler of the program");
    MPI_Ibcast(&in, 1, MPI_INT, -5, comm, &request);
    CHECK(handled == MPI_ERR_ROOT);
    MPI_Errhandler_free(&errhandler);
    CALL(MPI_Comm_free(&comm));
}

/* Only for Weft: an MPI alone may do anything. The operation goes on. */
/* Rank 0 frees, and starts again, what the others start later. Each MPI keeps its own answer to the former. */
static void active_is_freed(void) {
    int form, round, in = 1, out = -1, flag = 0, token = 0, i;
    MPI_Request request, same;
    for (round = 0; round < 4; ++round) {
        for (form = 0; form <= HAS_PERSISTENT && world_ranks > 1; ++form) {
            if (form == 0 && world_rank > 0)
                CALL(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (form == 0) CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
#if HAS_PERSISTENT
            if (form == 1) {
                CALL(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
                if (world_rank > 0)
                    CALL(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                CALL(MPI_Start(&request));
            }
#endif
            same = request;
            if (world_rank == 0) {
                doing("Start and Request_free of an active barrier");
                CHECK(class_of(MPI_Start(&request)) == MPI_ERR_REQUEST);
#ifdef OPEN_MPI
                CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
                CHECK(request == same);
#else
                CALL(MPI_Request_free(&request));
                CHECK(request == MPI_REQUEST_NULL);
                CHECK(class_of(MPI_Request_free(&same)) == MPI_ERR_REQUEST);
                CHECK(class_of(MPI_Test(&same, &flag, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
#endif
                for (i = 1; i < world_ranks; ++i)
                    CALL(MPI_Send(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD));
            }
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            if (request != MPI_REQUEST_NULL) CALL(MPI_Request_free(&request));
        }
    }
#if HAS_PERSISTENT
    CALL(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request));
    for (round = 0; round < 4; ++round) {
        doing("Start of what is complete, but has not been completed");
        CALL(MPI_Start(&request));
        for (flag = 0; !flag;) CALL(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        CHECK(out == in * world_ranks);
        ++in;
    }
    CALL(MPI_Request_free(&request));
#endif
    (void)in, (void)out, (void)same, (void)flag;
}

static void misused_requests(void) {
    MPI_Request request, same, list[2];
    int round, in = 1, out = -1, flag, number, places[2];
    CALL(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    active_is_freed();
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    same = request;
    doing("Cancel of a barrier");
    CHECK(class_of(MPI_Cancel(&request)) == MPI_ERR_REQUEST);
    CHECK(request == same);
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    doing("Start, Cancel and Request_free of a barrier that has been completed");
    CHECK(class_of(MPI_Start(&same)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Cancel(&same)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Request_free(&same)) == MPI_ERR_REQUEST);
    doing("Wait and Test of a barrier that has been completed");
    CHECK(class_of(MPI_Wait(&same, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Test(&same, &flag, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Request_get_status(same, &flag, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
    for (round = 0; round < 2; ++round) {
        doing(round ? "the same in a list with an operation that goes on" : "the same in a list");
        list[0] = same;
        list[1] = MPI_REQUEST_NULL;
        /* (The second operation that is outstanding gets another request.) */
        if (round) {
            CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
            CALL(MPI_Ibarrier(MPI_COMM_WORLD, &list[1]));
            same = list[0] = list[1];
            CALL(MPI_Wait(&list[1], MPI_STATUS_IGNORE));
            list[1] = request;
        }
        CHECK(class_of(MPI_Waitall(2, list, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
        CHECK(class_of(MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
        CHECK(class_of(MPI_Waitany(2, list, places, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
        CHECK(class_of(MPI_Testany(2, list, places, &flag, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
        CHECK(class_of(MPI_Waitsome(2, list, &number, places, MPI_STATUSES_IGNORE)) ==
              MPI_ERR_REQUEST);
        CHECK(class_of(MPI_Testsome(2, list, &number, places, MPI_STATUSES_IGNORE)) ==
              MPI_ERR_REQUEST);
        CHECK(list[0] == same && (list[1] != MPI_REQUEST_NULL) == round);
        if (round) CALL(MPI_Wait(&list[1], MPI_STATUS_IGNORE));
    }
    for (round = 0; round < 3; ++round) {
        CALL(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(out == world_ranks);
    }
}

const Section error_sections[] = {
    {"invalid_arguments", invalid_arguments, "the MPI's own classes of errors"},
    {"invalid_lists", invalid_lists, "of requests, for the completion calls"},
    {"null_addresses", null_addresses, "the MPI's own errors"},
    {"error_handlers", error_handlers, "a program's handler is called"},
    {"misused_requests", misused_requests,
     "only with Weft: Cancel and Request_free of an active collective"},
    {NULL, NULL, NULL}};
