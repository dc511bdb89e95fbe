/* Programs that once hung, or went wrong, with a library between them and their MPI. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"

#define LARGE (1 << 20) /* a message that waits for its receiver */

/* Asks until the request is complete, in one of several ways. */
static void ask_until_complete(MPI_Request* request, int way) {
#if HAS_STATUS_OF_LISTS
    int flag = 0, index, count = 0;
    if (way == 1) {
        doing("Request_get_status_all of an Ibarrier, a message outstanding");
        while (!flag) CALL(MPI_Request_get_status_all(1, request, &flag, MPI_STATUSES_IGNORE));
    } else if (way == 2) {
        doing("Request_get_status_any of an Ibarrier, a message outstanding");
        while (!flag)
            CALL(MPI_Request_get_status_any(1, request, &index, &flag, MPI_STATUS_IGNORE));
    } else if (way == 3) {
        doing("Request_get_status_some of an Ibarrier, a message outstanding");
        while (count == 0)
            CALL(MPI_Request_get_status_some(1, request, &count, &index, MPI_STATUSES_IGNORE));
    }
#else
    (void)request, (void)way;
#endif
}

/* Rank 0 waits for a barrier that rank 1 reaches after it has received rank 0's message. */
static void barrier_behind_message(void) {
    char* data = calloc(LARGE, 1);
    MPI_Request message = MPI_REQUEST_NULL, barrier;
    int round;
    for (round = 0; round < 5; ++round) {
        if (world_rank == 0 && world_ranks > 1) {
            memset(data, 7 + round, LARGE);
            CALL(MPI_Isend(data, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &message));
        }
        if (world_rank == 1) {
            doing("Recv before Ibarrier");
            CALL(MPI_Recv(data, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(data[LARGE - 1] == 7 + round);
        }
        CALL(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
        ask_until_complete(&barrier, round);
        doing("Wait of an Ibarrier, a message outstanding");
        CALL(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
        CALL(MPI_Wait(&message, MPI_STATUS_IGNORE));
        ++checks;
    }
    free(data);
}

/* The communicator is freed while its operations are outstanding. */
static void freed_before_wait(void) {
    int round, i, in[3], out[3];
    for (round = 0; round < 10; ++round) {
        MPI_Comm comm;
        MPI_Request requests[3];
        CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (i = 0; i < 3; ++i) {
            in[i] = world_rank + i;
            CALL(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_MAX, comm, &requests[i]));
        }
        CALL(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        doing("operations of a freed communicator");
        CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        for (i = 0; i < 3; ++i) CHECK(out[i] == world_ranks - 1 + i);
    }
}

/* A duplicate is used right after the call that completed it, whichever call that is. */
static void idup_used_at_once(void) {
    int way, out;
    for (way = 0; way < WAYS; ++way) {
        MPI_Comm comm;
        MPI_Request requests[2];
        CALL(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[0]));
        requests[1] = MPI_REQUEST_NULL;
        doing("Comm_idup by %s", way_names[way]);
        complete(requests, 2, way, 1);
        CALL(MPI_Iallreduce(&way, &out, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
        CALL(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(out == way * world_ranks);
        CALL(MPI_Comm_free(&comm));
    }
}

static void idup_beside_collectives(void) {
    int round, out[2];
    for (round = 0; round < 10; ++round) {
        MPI_Comm comm;
        MPI_Request requests[3];
        CALL(MPI_Iallreduce(&round, &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
        CALL(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[1]));
        CALL(MPI_Iallreduce(&round, &out[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[2]));
        doing("Comm_idup beside collectives");
        CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        CHECK(out[0] == round * world_ranks && out[1] == round);
        CALL(MPI_Comm_free(&comm));
    }
}

/* MPICH's ROMIO calls collectives inside a wait. */
static void file_beside_collectives(void) {
    char path[64] = "";
    MPI_File file;
    MPI_Request requests[3];
    int number[64], back[64], sum, i;
    if (world_rank == 0) {
        const char* folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%.30s/corpus.%ld", folder ? folder : "/tmp", (long)getpid());
    }
    CALL(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    CALL(MPI_File_open(MPI_COMM_WORLD, path,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                       &file));
    for (i = 0; i < 64; ++i) number[i] = world_rank * 64 + i;
    CALL(MPI_File_set_view(file, (MPI_Offset)world_rank * (MPI_Offset)sizeof number, MPI_INT,
                           MPI_INT, "native", MPI_INFO_NULL));
    CALL(MPI_Iallreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_File_iwrite_all(file, number, 64, MPI_INT, &requests[1]));
    CALL(MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
    doing("File_iwrite_all beside collectives");
    CALL(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == world_ranks * (world_ranks - 1) / 2);
    CALL(MPI_File_read_at(file, 0, back, 64, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!memcmp(number, back, sizeof number));
    CALL(MPI_File_close(&file));
}

static Spec reduction(const Group* group, Function function, long size, Word key) {
    Spec spec;
    memset(&spec, 0, sizeof spec);
    spec.function = function;
    spec.group = group;
    spec.size = size;
    spec.number = number_at(0);
    spec.operation = SUM;
    spec.key = key;
    return spec;
}

/* The test driver forces each algorithm in turn. */
static void allreduce_in_place(void) {
    static const long sizes[] = {0, 1, 7, 1000, 70000};
    Group world;
    int s;
    group_from(&world, MPI_COMM_WORLD, "world");
    for (s = 0; s < 5; ++s) {
        Spec spec = reduction(&world, ALLREDUCE, sizes[s], (Word)s);
        for (spec.in_place = 0; spec.in_place < 2; ++spec.in_place) {
            spec.form = NONBLOCKING;
            run_case(spec);
            if (!HAS_PERSISTENT) continue;
            spec.form = PERSISTENT;
            run_case(spec);
        }
    }
}

/* Ranks describe the same data by different counts and types. */
static void bcast_of_unlike_types(void) {
    Group world;
    Spec spec;
    long size;
    group_from(&world, MPI_COMM_WORLD, "world");
    memset(&spec, 0, sizeof spec);
    spec.function = BCAST;
    spec.group = &world;
    spec.send_layout = spec.recv_layout = EACH_ITS_OWN;
    for (size = 1; size < 6000; size = size * 3 + 1) {
        for (spec.root = 0; spec.root < world.ranks; ++spec.root) {
            for (spec.base = 0; spec.base < BASES; ++spec.base) {
                spec.size = size / (1 + spec.base);
                spec.key = (Word)(size * 100 + spec.base);
                run_case(spec);
            }
        }
    }
}

/* A rank that is already in a receive still takes part in the reduction. */
static void user_operation_then_recv(void) {
    Group world;
    int round, token = 0;
    group_from(&world, MPI_COMM_WORLD, "world");
    for (round = 0; round < 10; ++round) {
        Case of;
        Spec spec = reduction(&world, ALLREDUCE, 500, (Word)round);
        spec.operation = USER_FIRST;
        open_case(&of, spec);
        fill_case(&of);
        CALL(call_case(&of));
        if (world_rank == 0) {
            doing("Wait of an Iallreduce by a user's operation");
            CALL(MPI_Wait(&of.request, MPI_STATUS_IGNORE));
            for (token = 1; token < world_ranks; ++token) {
                CALL(MPI_Send(&round, 1, MPI_INT, token, 0, MPI_COMM_WORLD));
            }
        } else {
            doing("Recv, an Iallreduce by a user's operation outstanding");
            CALL(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CALL(MPI_Wait(&of.request, MPI_STATUS_IGNORE));
            CHECK(token == round);
        }
        check_case(&of);
        close_case(&of);
    }
}

static void calls_in_turn(int way, int round) {
    const int next = (world_rank + 1) % world_ranks,
              last = (world_rank + world_ranks - 1) % world_ranks;
    int out = round, in = -1;
    MPI_Comm comm;
    MPI_Request request;
    switch (way) {
        case 0: CALL(MPI_Barrier(MPI_COMM_WORLD)); break;
        case 1: CALL(MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD)); break;
        case 2:
            CALL(MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, last, 1, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
            break;
        case 3:
            CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            CALL(MPI_Comm_free(&comm));
            in = round;
            break;
        case 4:
            CALL(MPI_Isend(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request));
            CALL(MPI_Probe(last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CALL(MPI_Recv(&in, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
        case 5:
            CALL(MPI_Irecv(&in, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &request));
            CALL(MPI_Ssend(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD));
            CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
            break;
    }
    if (way > 0) CHECK(in == round);
}

/* One rank after another proceeds from the reduction to a blocking call, which others reach only after theirs. */
static void user_operation_then_blocking(void) {
    static const char* const names[] = {"Barrier",  "Allreduce", "Sendrecv",
                                        "Comm_dup", "Probe",     "Ssend"};
    Group world;
    int way, round;
    group_from(&world, MPI_COMM_WORLD, "world");
    for (way = 0; way < 6; ++way) {
        for (round = 0; round < 4 * world_ranks; ++round) {
            Case of;
            Spec spec = reduction(&world, ALLREDUCE, 50 + round * round * 10, (Word)round);
            spec.operation = round % 2 ? USER_FIRST : USER_AFFINE;
            if (spec.operation == USER_AFFINE) spec.number = number_at(numbers() - 1);
            open_case(&of, spec);
            fill_case(&of);
            CALL(call_case(&of));
            doing("%s, an Iallreduce by a user's operation outstanding", names[way]);
            if (round / 2 % world_ranks == world_rank) {
                CALL(MPI_Wait(&of.request, MPI_STATUS_IGNORE));
                calls_in_turn(way, round);
            } else {
                calls_in_turn(way, round);
                CALL(MPI_Wait(&of.request, MPI_STATUS_IGNORE));
            }
            check_case(&of);
            close_case(&of);
        }
    }
}

static void user_operations(void) {
    Group world, turned;
    MPI_Comm backwards;
    int f, n, round;
    group_from(&world, MPI_COMM_WORLD, "world");
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &backwards));
    group_from(&turned, backwards, "backwards");
    for (f = REDUCE; f <= EXSCAN; ++f) {
        for (n = numbers() - 3; n < numbers(); ++n) {
            for (round = 0; round < 6; ++round) {
                Spec spec = reduction(round % 2 ? &turned : &world, (Function)f, round * round * 30,
                                      (Word)round);
                spec.number = number_at(n);
                spec.operation = USER_AFFINE;
                spec.root = round % world_ranks;
                spec.in_place = round / 2 % 2;
                run_case(spec);
            }
        }
    }
    CALL(MPI_Comm_free(&backwards));
}

/* Ranks start persistent operations in different orders. */
static void persistent_in_any_order(void) {
#if HAS_PERSISTENT
    MPI_Request requests[3];
    int in[3], out[3], round, i;
    for (i = 0; i < 3; ++i) {
        CALL(MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &requests[i]));
    }
    for (round = 0; round < 20; ++round) {
        for (i = 0; i < 3; ++i) in[i] = world_rank + i + round;
        for (i = 0; i < 3; ++i) CALL(MPI_Start(&requests[(i + world_rank + round) % 3]));
        doing("persistent operations started in different orders");
        complete(requests, 3, round % 2 ? BY_WAITANY : BY_WAITSOME, 0);
        for (i = 0; i < 3; ++i) {
            CHECK(out[i] == world_ranks * (world_ranks - 1) / 2 + world_ranks * (i + round));
        }
    }
    for (i = 0; i < 3; ++i) CALL(MPI_Request_free(&requests[i]));
#endif
}

/* Empty blocks need no type. Only some ranks have such blocks. */
static void alltoallw_without_types(void) {
    int counts[MAX_RANKS] = {0}, displs[MAX_RANKS] = {0}, in = 42, out = -1, i;
    MPI_Datatype types[MAX_RANKS];
    MPI_Request request;
    for (i = 0; i < world_ranks; ++i) types[i] = world_rank == 0 ? MPI_DATATYPE_NULL : MPI_INT;
    CALL(MPI_Ialltoallw(&in, counts, displs, types, &out, counts, displs, types, MPI_COMM_WORLD,
                        &request));
    doing("Ialltoallw, one rank without types");
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(out == -1);
}

#if HAS_PERSISTENT
static int copied, deleted;
static int count_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    ++copied;
    *flag = 0;
    return MPI_SUCCESS;
}
static int count_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    ++deleted;
    return MPI_SUCCESS;
}
#endif

/* Nobody but the program duplicates its communicators. */
static void attributes_of_self(void) {
#if HAS_PERSISTENT
    int keyval, sum;
    MPI_Request request;
    CALL(MPI_Comm_create_keyval(count_copy, count_delete, &keyval, NULL));
    CALL(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &sum));
    CALL(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &sum));
    CALL(MPI_Allreduce_init(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request));
    CALL(MPI_Start(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Request_free(&request));
    doing("attributes of MPI_COMM_SELF");
    CHECK(copied == 0 && deleted == 0);
    CALL(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval));
    CALL(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
    CALL(MPI_Comm_free_keyval(&keyval));
#endif
}

const Section regression_sections[] = {
    {"barrier_behind_message", barrier_behind_message,
     "Isend, Ibarrier, Wait against Recv, Ibarrier"},
    {"freed_before_wait", freed_before_wait, "Comm_free before Wait"},
    {"idup_used_at_once", idup_used_at_once, "a duplicate right after the call that completed it"},
    {"idup_beside_collectives", idup_beside_collectives,
     "Comm_idup while collectives are outstanding"},
    {"file_beside_collectives", file_beside_collectives,
     "File_iwrite_all while collectives are outstanding"},
    {"allreduce_in_place", allreduce_in_place, "for every algorithm of the library"},
    {"bcast_of_unlike_types", bcast_of_unlike_types, "counts and types differ from rank to rank"},
    {"user_operation_then_recv", user_operation_then_recv, "a reduction advances in a native Recv"},
    {"user_operation_then_blocking", user_operation_then_blocking,
     "... and in other calls that block"},
    {"user_operations", user_operations, "that do not commute, on derived types, ranks backwards"},
    {"alltoallw_without_types", alltoallw_without_types, "blocks of nothing, of no type"},
    {"attributes_of_self", attributes_of_self, "are copied by nobody"},
    {"persistent_in_any_order", persistent_in_any_order, "starts in different orders on the ranks"},
    {NULL, NULL, NULL}};
