/* Threads of the program, at each level of MPI_Init_thread. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

#define THREADS 4
#define WINDOW 6
#define ROUNDS 12

static Spec small_reduction(const Group* group, Word key) {
    Spec spec;
    memset(&spec, 0, sizeof spec);
    spec.function = ALLREDUCE;
    spec.group = group;
    spec.size = 100;
    spec.number = number_at(numbers() - 1);
    spec.operation = USER_AFFINE;
    spec.key = key;
    return spec;
}

/* --- Each thread with its own communicator and operations ------------------------------------- */

typedef struct {
    int number;
    Group group;
} Member;

static void open_and_call(Case* of, Spec spec, MPI_Request* request) {
    open_case(of, spec);
    fill_case(of);
    CALL(call_case(of));
    *request = of->request;
}

static void check_and_close(Case* of) {
    tell_case(of);
    check_case(of);
    close_case(of);
}

static void nonblocking_round(const Group* group, Word* shared, int way) {
    Case cases[WINDOW];
    MPI_Request requests[WINDOW];
    int is_open[WINDOW] = {0}, i;
    for (i = 0; i < WINDOW; ++i) {
        Spec spec = drawn_spec(shared, group, NONBLOCKING);
        if (i % 3 == 2) spec = small_reduction(group, spec.key);
        requests[i] = MPI_REQUEST_NULL;
        if (is_left_out(&spec)) continue;
        open_and_call(&cases[i], spec, &requests[i]);
        is_open[i] = 1;
    }
    doing("threads: completing by %s", way_names[way]);
    complete(requests, WINDOW, way, 0);
    for (i = 0; i < WINDOW; ++i) {
        if (is_open[i]) check_and_close(&cases[i]);
    }
}

static void persistent_round(const Group* group, Word* shared, int way) {
#if HAS_PERSISTENT
    Case of;
    Spec spec = drawn_spec(shared, group, PERSISTENT);
    int start;
    if (is_left_out(&spec)) return;
    if (is_skipped_for_persistent(way)) way = BY_TESTSOME;
    open_case(&of, spec);
    for (start = 0; start < 3; ++start) {
        fill_case(&of);
        if (start == 0) CALL(call_case(&of));
        CALL(MPI_Start(&of.request));
        doing("threads: a persistent operation by %s", way_names[way]);
        complete(&of.request, 1, way, 0);
        tell_case(&of);
        check_case(&of);
    }
    CALL(MPI_Request_free(&of.request));
    close_case(&of);
#else
    (void)group, (void)shared, (void)way;
#endif
}

static void* operate(void* argument) {
    const Member* me = argument;
    Word shared = mixed(mixed(options.seed, 815), (Word)me->number);
    int round;
    for (round = 0; round < ROUNDS; ++round) {
        const int way = (me->number * 2 + round) % WAYS;
        MPI_Comm dup;
        Group again;
        nonblocking_round(&me->group, &shared, way);
        persistent_round(&me->group, &shared, way);
        if (round % 4 != me->number % 4) continue;
        CALL(MPI_Comm_dup(me->group.comm, &dup));
        group_from(&again, dup, "of a thread");
        nonblocking_round(&again, &shared, way);
        CALL(MPI_Comm_free(&dup));
    }
    return NULL;
}

static void threads(void) {
    Member members[THREADS];
    pthread_t running[THREADS];
    int i;
    numbers(); /* makes its table once */
    for (i = 0; i < THREADS; ++i) {
        MPI_Comm comm;
        members[i].number = i;
        if (i == 0) {
            make_topology(&members[i].group, 2, MPI_COMM_WORLD);
            continue;
        }
        CALL(MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? world_rank : -world_rank, &comm));
        group_from(&members[i].group, comm, "of a thread");
    }
    for (i = 0; i < THREADS; ++i) CHECK(!pthread_create(&running[i], NULL, operate, &members[i]));
    for (i = 0; i < THREADS; ++i) CHECK(!pthread_join(running[i], NULL));
    for (i = 0; i < THREADS; ++i) CALL(MPI_Comm_free(&members[i].group.comm));
}

/* --- One thread inside a message, another one inside a collective ---------------------------- */

static void* receive(void* argument) {
    MPI_Comm comm = *(MPI_Comm*)argument;
    int round, token;
    for (round = 0; round < ROUNDS; ++round) {
        doing("threads: Recv beside a Wait");
        CALL(MPI_Recv(&token, 1, MPI_INT, (world_rank + 1) % world_ranks, round, comm,
                      MPI_STATUS_IGNORE));
        CHECK(token == round);
    }
    return NULL;
}

/* The message comes once the collective has ended on the sender. */
static void recv_beside_wait(void) {
    MPI_Comm messages;
    Group world;
    pthread_t receiver;
    int round;
    group_from(&world, MPI_COMM_WORLD, "world");
    numbers();
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &messages));
    CHECK(!pthread_create(&receiver, NULL, receive, &messages));
    for (round = 0; round < ROUNDS; ++round) {
        Case of;
        open_and_call(&of, small_reduction(&world, (Word)round), &of.request);
        doing("threads: Wait beside a Recv");
        CALL(MPI_Wait(&of.request, MPI_STATUS_IGNORE));
        check_and_close(&of);
        CALL(MPI_Send(&round, 1, MPI_INT, (world_rank + world_ranks - 1) % world_ranks, round,
                      messages));
    }
    CHECK(!pthread_join(receiver, NULL));
    CALL(MPI_Comm_free(&messages));
}

/* --- Threads of which one at a time calls --------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn; /* under the lock */

#define TURNS 200

static Group turns_group;
static Case turns_case;
static int turns_open;

/* This thread completes what the previous thread has started. */
static void* take_turns(void* argument) {
    const int me = *(const int*)argument;
    pthread_mutex_lock(&lock);
    while (turn < TURNS) {
        Spec spec;
        Word shared = mixed(options.seed, (Word)turn);
        if (turn % THREADS != me) {
            pthread_cond_wait(&turned, &lock);
            continue;
        }
        if (turns_open) {
            doing("threads: completing what another thread started");
            complete(&turns_case.request, 1, turn % WAYS, 0);
            check_and_close(&turns_case);
        }
        spec = drawn_spec(&shared, &turns_group, NONBLOCKING);
        turns_open = turn + 1 < TURNS && !is_left_out(&spec);
        if (turns_open) open_and_call(&turns_case, spec, &turns_case.request);
        ++turn;
        pthread_cond_broadcast(&turned);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void threads_in_turn(void) {
    pthread_t running[THREADS];
    int number[THREADS], i;
    group_from(&turns_group, MPI_COMM_WORLD, "world");
    for (i = 0; i < THREADS; ++i) {
        number[i] = i;
        CHECK(!pthread_create(&running[i], NULL, take_turns, &number[i]));
    }
    for (i = 0; i < THREADS; ++i) CHECK(!pthread_join(running[i], NULL));
}

static void* compute(void* argument) {
    int is_over = 0;
    (void)argument;
    while (!is_over) {
        sched_yield();
        pthread_mutex_lock(&lock);
        is_over = turn < 0;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void threads_that_compute(void) {
    pthread_t running[THREADS];
    Group world;
    Word shared = mixed(options.seed, 5);
    int i;
    group_from(&world, MPI_COMM_WORLD, "world");
    turn = 0;
    for (i = 0; i < THREADS; ++i) CHECK(!pthread_create(&running[i], NULL, compute, NULL));
    for (i = 0; i < ROUNDS; ++i) {
        nonblocking_round(&world, &shared, i % WAYS);
        persistent_round(&world, &shared, i % WAYS);
    }
    pthread_mutex_lock(&lock);
    turn = -1;
    pthread_mutex_unlock(&lock);
    for (i = 0; i < THREADS; ++i) CHECK(!pthread_join(running[i], NULL));
}

const Section thread_sections[] = {
    {"threads", threads, "threads=multiple: each with its own communicator, operations and calls"},
    {"recv_beside_wait", recv_beside_wait,
     "threads=multiple: a thread in Recv, another in Wait of a user's operation"},
    {"threads_in_turn", threads_in_turn,
     "threads=serialized: what a thread starts, another one completes"},
    {"threads_that_compute", threads_that_compute, "threads=funneled: only the first one calls"},
    {NULL, NULL, NULL}};
