/* Collectives completed together with messages, persistent requests, inactive and null ones. */
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define REQUESTS 8

static Spec small(const Group* group, Function function, Form form, Word key) {
    Spec spec;
    memset(&spec, 0, sizeof spec);
    spec.function = function;
    spec.form = form;
    spec.group = group;
    spec.size = 20;
    spec.number = number_at(0);
    spec.operation = SUM;
    spec.key = key;
    return spec;
}

/* Two collectives, a persistent one, two messages of which one is persistent, one inactive, one null. */
static void mixed_requests(void) {
    Group world;
    int way, round;
    group_from(&world, MPI_COMM_WORLD, "world");
    for (way = 0; way < WAYS; ++way) {
        for (round = 0; round < 3; ++round) {
            const int next = (world_rank + 1) % world_ranks,
                      before = (world_rank + world_ranks - 1) % world_ranks;
            int out[2], in[2] = {-1, -1}, idle = 0, i;
            Case first, second, third;
            MPI_Request requests[REQUESTS];
            out[0] = way * 10 + round, out[1] = -out[0];
            open_case(&first, small(&world, ALLREDUCE, NONBLOCKING, (Word)out[0]));
            open_case(&second, small(&world, BCAST, NONBLOCKING, (Word)out[0] + 1));
            open_case(&third, small(&world, ALLGATHER,
                                    HAS_PERSISTENT && !is_skipped_for_persistent(way) ? PERSISTENT
                                                                                      : NONBLOCKING,
                                    3));
            fill_case(&first), fill_case(&second), fill_case(&third);
            CALL(MPI_Irecv(&in[0], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]));
            CALL(call_case(&first));
            requests[1] = first.request;
            requests[2] = MPI_REQUEST_NULL;
            CALL(call_case(&third));
            requests[3] = third.request;
            CALL(MPI_Recv_init(&in[1], 1, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[4]));
            CALL(MPI_Send_init(&idle, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[5]));
            CALL(call_case(&second));
            requests[6] = second.request;
            CALL(MPI_Isend(&out[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[7]));
            if (third.spec.form == PERSISTENT)
                CALL(MPI_Startall(2, &requests[3]));
            else
                CALL(MPI_Start(&requests[4]));
            CALL(MPI_Send(&out[1], 1, MPI_INT, next, 2, MPI_COMM_WORLD));
            doing("mixed requests by %s", way_names[way]);
            complete(requests, REQUESTS, way, 1u << 0 | 1u << 4 | 1u << 5 | 1u << 7);
            CHECK(in[0] == out[0] && in[1] == out[1]);
            check_case(&first), check_case(&second), check_case(&third);
            for (i = 0; i < REQUESTS; ++i) {
                const int stays = i == 4 || i == 5 || (i == 3 && third.spec.form == PERSISTENT);
                CHECK((requests[i] != MPI_REQUEST_NULL) == stays);
                if (stays) CALL(MPI_Request_free(&requests[i]));
            }
            close_case(&first), close_case(&second), close_case(&third);
        }
    }
}

/* Requests that are null or inactive have an empty status. */
static void empty_statuses(void) {
    MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    int flag = 0, index = 0, count = -1;
#if HAS_PERSISTENT
    CALL(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &none[1]));
    doing("an inactive persistent barrier");
    CALL(MPI_Wait(&none[1], &status));
    CHECK(none[1] != MPI_REQUEST_NULL);
    CALL(MPI_Test(&none[1], &flag, &status));
    CHECK(flag);
    CALL(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0);
#endif
    flag = 0;
    CALL(MPI_Waitany(3, none, &index, &status));
    CHECK(index == MPI_UNDEFINED);
    CALL(MPI_Testany(3, none, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED);
    CALL(MPI_Waitsome(3, none, &count, &index, &status));
    CHECK(count == MPI_UNDEFINED);
    if (none[1] != MPI_REQUEST_NULL) {
        int round;
        for (round = 0; round < 3; ++round) {
            CALL(MPI_Start(&none[1]));
            CALL(MPI_Waitany(3, none, &index, &status));
            CHECK(index == 1);
        }
        CALL(MPI_Request_free(&none[1]));
    }
    ++checks;
}

/* A request that was reported complete stays complete until it is waited for. */
static void status_without_completion(void) {
    int flag = 0, again = 0;
    MPI_Request request;
    MPI_Status status;
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    doing("Request_get_status of a barrier");
    while (!flag) CALL(MPI_Request_get_status(request, &flag, &status));
    CALL(MPI_Request_get_status(request, &again, MPI_STATUS_IGNORE));
    CHECK(again && request != MPI_REQUEST_NULL);
    CALL(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
}

/* ... also of persistent ones, for the calls that look for active requests. */
static void persistent_status_without_completion(void) {
#if HAS_PERSISTENT
    int way, in = world_rank, out, flag, index, count, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CALL(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &requests[0]));
    requests[1] = MPI_REQUEST_NULL;
    for (way = 0; way < 5; ++way) {
        out = -1;
        CALL(MPI_Start(&requests[0]));
        doing("Request_get_status of a persistent allreduce, %d", way);
        for (flag = 0; !flag;) CALL(MPI_Request_get_status(requests[0], &flag, statuses));
        index = count = MPI_UNDEFINED;
        if (way == 0) CALL(MPI_Waitany(2, requests, &index, statuses));
        if (way == 1) CALL(MPI_Testany(2, requests, &index, &flag, statuses));
        if (way == 2) CALL(MPI_Waitsome(2, requests, &count, indices, statuses));
        if (way == 3) CALL(MPI_Testsome(2, requests, &count, indices, statuses));
        if (way < 2) CHECK(index == 0);
        if (way == 2 || way == 3) CHECK(count == 1 && indices[0] == 0);
        if (way == 4) CALL(MPI_Waitall(2, requests, statuses));
        CHECK(out == world_ranks * (world_ranks - 1) / 2);
    }
    CALL(MPI_Request_free(&requests[0]));
#endif
}

/* ... and of several, of which a wait for any has seen more than one, and one was started again.
   (Intel MPI's tests see its part of that only after some calls.) Each rank has its own first. */
static void persistent_status_then_test(void) {
#if HAS_PERSISTENT
    enum { at_once = 9 };
    int round, k, first, in = world_rank, out[at_once], flag, index, count;
    MPI_Request requests[at_once];
    for (k = 0; k < at_once; ++k) {
        CALL(MPI_Allreduce_init(&in, &out[k], 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL,
                                &requests[k]));
    }
    for (round = 0; round < 12; ++round) {
        CALL(MPI_Startall(at_once, requests));
        CALL(MPI_Waitany(at_once, requests, &first, MPI_STATUS_IGNORE));
        CALL(MPI_Start(&requests[first]));
        for (k = 0; k < at_once; ++k) {
            const int way = (k + round) % 4;
            doing("calls that do not wait, after Request_get_status, round %d, way %d", round, way);
            for (flag = 0; !flag;)
                CALL(MPI_Request_get_status(requests[k], &flag, MPI_STATUS_IGNORE));
            index = 0, count = 1;
            if (way == 0) CALL(MPI_Test(&requests[k], &flag, MPI_STATUS_IGNORE));
            if (way == 1) CALL(MPI_Testall(1, &requests[k], &flag, MPI_STATUSES_IGNORE));
            if (way == 2) CALL(MPI_Testany(1, &requests[k], &index, &flag, MPI_STATUS_IGNORE));
            if (way == 3)
                CALL(MPI_Testsome(1, &requests[k], &count, &index, MPI_STATUSES_IGNORE));
            CHECK(flag);
            CHECK(index == 0 && count == 1);
            CHECK(out[k] == in);
        }
    }
    for (k = 0; k < at_once; ++k) CALL(MPI_Request_free(&requests[k]));
#endif
}

/* Asks by one of the calls that complete nothing. */
static void ask_until_complete(MPI_Request request, int way) {
    int flag = 0;
#if HAS_STATUS_OF_LISTS
    int index = -1, count = 0;
    MPI_Request list[2];
    list[0] = MPI_REQUEST_NULL, list[1] = request;
    while (way == 1 && !flag) CALL(MPI_Request_get_status_all(2, list, &flag, MPI_STATUSES_IGNORE));
    while (way == 2 && index != 1)
        CALL(MPI_Request_get_status_any(2, list, &index, &flag, MPI_STATUS_IGNORE));
    while (way == 3 && count != 1)
        CALL(MPI_Request_get_status_some(2, list, &count, &index, MPI_STATUSES_IGNORE));
    if (way > 0) return;
#endif
    (void)way;
    while (!flag) CALL(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
}

/* A request that was reported complete may be freed instead; also when a call for several has seen it complete. */
static void freed_when_complete(void) {
    int way, form, round, in, out, flag, index;
    for (round = 0; round < 3; ++round) {
        for (form = 0; form <= HAS_PERSISTENT; ++form) {
            for (way = 0; way < 5; ++way) {
                MPI_Request request, pair[2];
                in = world_rank + way + round, out = -1;
                doing("Request_free of a complete %s allreduce, asked by %d",
                      form ? "persistent" : "nonblocking", way);
                if (form == 0)
                    CALL(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request));
#if HAS_PERSISTENT
                if (form == 1) {
                    CALL(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, &request));
                    CALL(MPI_Start(&request));
                }
#endif
                if (way < 4) {
                    ask_until_complete(request, way);
                } else { /* Testany takes the other one, and may have told the MPI of this one */
                    CALL(MPI_Irecv(&flag, 1, MPI_INT, world_rank, 9, MPI_COMM_WORLD, &pair[0]));
                    CALL(MPI_Send(&way, 1, MPI_INT, world_rank, 9, MPI_COMM_WORLD));
                    ask_until_complete(request, 0);
                    pair[1] = request;
                    CALL(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
                    CHECK(index == 0 || index == 1);
                    if (index == 1 && form == 0) {
                        request = MPI_REQUEST_NULL;
                        CHECK(pair[1] == MPI_REQUEST_NULL);
                    }
                    CALL(MPI_Wait(&pair[0], MPI_STATUS_IGNORE));
                }
                if (request != MPI_REQUEST_NULL) CALL(MPI_Request_free(&request));
                CHECK(request == MPI_REQUEST_NULL);
                CHECK(out == world_ranks - 1 + way + round);
            }
        }
    }
}

/* A persistent receive keeps its status beside a collective that takes longer. */
static void persistent_receive_by_testall(void) {
    int round, flag, all, in, out;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (round = 0; round < 20; ++round) {
        CALL(MPI_Recv_init(&in, 1, MPI_INT, world_rank, 5, MPI_COMM_WORLD, &requests[0]));
        CALL(MPI_Start(&requests[0]));
        CALL(MPI_Irecv(&out, 1, MPI_INT, (world_rank + world_ranks - 1) % world_ranks, 6,
                       MPI_COMM_WORLD, &requests[2]));
        CALL(MPI_Send(&round, 1, MPI_INT, world_rank, 5, MPI_COMM_WORLD));
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
        doing("a persistent receive beside a barrier, by Testall");
        CALL(MPI_Testall(3, requests, &all, statuses));
        for (flag = all; !flag;)
            CALL(MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE));
        if (!all) CALL(MPI_Testall(3, requests, &all, statuses));
        CALL(MPI_Send(&round, 1, MPI_INT, (world_rank + 1) % world_ranks, 6, MPI_COMM_WORLD));
        while (!all) CALL(MPI_Testall(3, requests, &all, statuses));
        CHECK(statuses[0].MPI_SOURCE == world_rank && statuses[0].MPI_TAG == 5);
        CHECK(statuses[2].MPI_TAG == 6 && in == round && out == round);
        CHECK(requests[1] == MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL);
        CALL(MPI_Request_free(&requests[0]));
    }
}

/* The standard's binary interface leaves Fortran's numbers to another library. */
#ifdef MPI_ABI_VERSION
typedef int Number_of_request;
#define TO_NUMBER MPI_Request_toint
#define FROM_NUMBER MPI_Request_fromint
#else
typedef MPI_Fint Number_of_request;
#define TO_NUMBER MPI_Request_c2f
#define FROM_NUMBER MPI_Request_f2c
#endif

/* A request converted to a Fortran handle and back works as well. */
static void converted_handles(void) {
    MPI_Request request;
    Number_of_request number;
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    number = TO_NUMBER(request);
    request = FROM_NUMBER(number);
    doing("a request that was a number");
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
}

const Section completion_sections[] = {
    {"mixed_requests", mixed_requests,
     "collectives, messages, persistent, inactive and null requests, by all calls"},
    {"empty_statuses", empty_statuses, "what calls say of null and inactive requests"},
    {"status_without_completion", status_without_completion, "MPI_Request_get_status"},
    {"persistent_status_without_completion", persistent_status_without_completion,
     "then by other calls"},
    {"persistent_status_then_test", persistent_status_then_test, "several at once"},
    {"freed_when_complete", freed_when_complete, "MPI_Request_free instead of a wait"},
    {"persistent_receive_by_testall", persistent_receive_by_testall,
     "its status, beside a barrier"},
    {"converted_handles", converted_handles, "c2f and f2c of a request"},
    {NULL, NULL, NULL}};
