/* Many outstanding operations of all kinds: nonblocking collectives on several communicators and messages between
   ranks, completed in every way, with pauses. The seed decides everything. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus.h"

#define WINDOW 20
#define COMMUNICATORS 4

static void pause_for(long us) {
    struct timespec time;
    time.tv_sec = 0;
    time.tv_nsec = us * 1000;
    nanosleep(&time, NULL);
}

typedef struct {
    Case cases[WINDOW];
    MPI_Request requests[WINDOW];
    int is_open[WINDOW];
} Window;

static void settle(Window* window, int at) {
    if (!window->is_open[at]) return;
    tell_case(&window->cases[at]);
    check_case(&window->cases[at]);
    close_case(&window->cases[at]);
    window->is_open[at] = 0;
    window->requests[at] = MPI_REQUEST_NULL;
}

/* The program knows that the one at `at` is complete: ends it in one of several ways. */
static void end_complete(Window* window, int at, Word* own) {
    MPI_Request* const request = &window->requests[at];
    int flag = 0, index = -1, count = 0;
    doing("random operations: ending the complete one at %d", at);
    switch (drawn(own, 6)) {
        case 0: CALL(MPI_Wait(request, MPI_STATUS_IGNORE)); break;
        case 1: CALL(MPI_Test(request, &flag, MPI_STATUS_IGNORE)), CHECK(flag); break;
        case 2: CALL(MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE)), CHECK(index == 0); break;
        case 3:
            CALL(MPI_Testsome(1, request, &count, &index, MPI_STATUSES_IGNORE)), CHECK(count == 1);
            break;
        default: CALL(MPI_Request_free(request));
    }
    CHECK(*request == MPI_REQUEST_NULL);
    settle(window, at);
}

/* Completes a random selection, at least the one at `needed`. */
static void complete_needed(Window* window, int needed, Word* own) {
    MPI_Status statuses[WINDOW];
    int indices[WINDOW], outcount, i, flag, index;
    doing("random operations: completing the one at %d", needed);
    while (window->is_open[needed]) {
        const int way = (int)drawn(own, WAYS);
        if (drawn(own, 30) == 0) pause_for(drawn(own, 500));
        switch (way) {
            case BY_WAIT:
                CALL(MPI_Wait(&window->requests[needed], MPI_STATUS_IGNORE));
                settle(window, needed);
                break;
            case BY_TEST:
            case BY_GET_STATUS:
                index = (int)drawn(own, WINDOW);
                if (!window->is_open[index]) break;
                if (way == BY_TEST)
                    CALL(MPI_Test(&window->requests[index], &flag, MPI_STATUS_IGNORE));
                else
                    CALL(MPI_Request_get_status(window->requests[index], &flag, MPI_STATUS_IGNORE));
                if (flag && way == BY_GET_STATUS) end_complete(window, index, own);
                if (flag) settle(window, index);
                break;
            case BY_WAITALL: /* seldom: it empties the window */
                if (drawn(own, 8) > 0) break;
                CALL(MPI_Waitall(WINDOW, window->requests, statuses));
                for (i = 0; i < WINDOW; ++i) settle(window, i);
                break;
            case BY_TESTALL:
                CALL(MPI_Testall(WINDOW, window->requests, &flag, statuses));
                for (i = 0; flag && i < WINDOW; ++i) settle(window, i);
                break;
#if HAS_STATUS_OF_LISTS
            case BY_GET_STATUS_ALL:
                CALL(MPI_Request_get_status_all(WINDOW, window->requests, &flag, statuses));
                for (i = 0; flag && i < WINDOW; ++i) {
                    if (window->is_open[i]) end_complete(window, i, own);
                }
                break;
            case BY_GET_STATUS_ANY:
                CALL(MPI_Request_get_status_any(WINDOW, window->requests, &index, &flag, statuses));
                if (flag && index != MPI_UNDEFINED) end_complete(window, index, own);
                break;
            case BY_GET_STATUS_SOME:
                CALL(MPI_Request_get_status_some(WINDOW, window->requests, &outcount, indices,
                                                 statuses));
                for (i = 0; outcount != MPI_UNDEFINED && i < outcount; ++i)
                    end_complete(window, indices[i], own);
                break;
#endif
            case BY_WAITSOME:
            case BY_TESTSOME:
                if (way == BY_WAITSOME)
                    CALL(MPI_Waitsome(WINDOW, window->requests, &outcount, indices, statuses));
                else
                    CALL(MPI_Testsome(WINDOW, window->requests, &outcount, indices, statuses));
                for (i = 0; outcount != MPI_UNDEFINED && i < outcount; ++i)
                    settle(window, indices[i]);
                break;
            default:
                index = complete_one(window->requests, WINDOW, way, 0);
                if (index >= 0) settle(window, index);
        }
    }
}

static void random_operations(void) {
    const long count = options.count ? options.count : 5000;
    Window* window = calloc(1, sizeof *window);
    Group groups[COMMUNICATORS];
    MPI_Comm backwards, half;
    Word shared = mixed(options.seed, 4711), own = mixed(shared, (Word)world_rank);
    long i;
    group_from(&groups[0], MPI_COMM_WORLD, "world");
    CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &backwards));
    group_from(&groups[1], backwards, "backwards");
    CALL(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half));
    group_from(&groups[2], half, "half");
    make_topology(&groups[3], 2, MPI_COMM_WORLD);
    for (i = 0; i < WINDOW; ++i) window->requests[i] = MPI_REQUEST_NULL;
    for (i = 0; i < count; ++i) {
        const int at = (int)(i % WINDOW), g = (int)drawn(&shared, COMMUNICATORS);
        Spec spec = drawn_spec(&shared, &groups[g], NONBLOCKING);
        const int is_message = drawn(&shared, 12) == 0;
        Case* of = &window->cases[at];
        /* The halves have different sizes: values that depend on the size are derived the same way on all ranks. */
        if (g == 2) spec.root = (int)(spec.key % (Word)groups[g].ranks);
        complete_needed(window, at, &own);
        if (is_message) { /* a native message beside them */
            int out = (int)i, in = -1;
            MPI_Request both[2];
            CALL(MPI_Irecv(&in, 1, MPI_INT, (world_rank + 1) % world_ranks, 7, MPI_COMM_WORLD,
                           &both[0]));
            CALL(MPI_Isend(&out, 1, MPI_INT, (world_rank + world_ranks - 1) % world_ranks, 7,
                           MPI_COMM_WORLD, &both[1]));
            doing("random operations: a message");
            CALL(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
            CHECK(in == out);
        }
        if (is_left_out(&spec)) continue;
        open_case(of, spec);
        fill_case(of);
        if (drawn(&own, 40) == 0) pause_for(drawn(&own, 300));
        CALL(call_case(of));
        forget_arguments(of);
        window->requests[at] = of->request;
        window->is_open[at] = 1;
    }
    for (i = 0; i < WINDOW; ++i) complete_needed(window, (int)i, &own);
    CALL(MPI_Comm_free(&backwards));
    CALL(MPI_Comm_free(&half));
    CALL(MPI_Comm_free(&groups[3].comm));
    free(window);
}

const Section random_sections[] = {
    {"random", random_operations,
     "count= (5000) random nonblocking operations, 20 outstanding, on 4 communicators"},
    {NULL, NULL, NULL}};
