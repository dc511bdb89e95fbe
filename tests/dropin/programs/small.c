/* Small MPI programs, chosen by the first argument. Plain MPI: nothing here knows about Weft. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define IS_MPI_4 1
#else
#define IS_MPI_4 0
#endif

static int rank, ranks;

static int entries(const char* folder) {
    DIR* const dir = opendir(folder);
    int count = 0;
    while (readdir(dir)) ++count;
    closedir(dir);
    return count - 2;
}

/* How often the threads other than this one have been switched to and from. */
static long switches_of_others(void) {
    DIR* const dir = opendir("/proc/self/task");
    const struct dirent* entry;
    long all = 0;
    while ((entry = readdir(dir))) {
        char path[300], line[200];
        long number;
        FILE* file;
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        if (!(file = fopen(path, "r"))) continue;
        while (fgets(line, sizeof line, file)) {
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &number) == 1 ||
                sscanf(line, "nonvoluntary_ctxt_switches: %ld", &number) == 1)
                all += number;
        }
        fclose(file);
    }
    closedir(dir);
    return all;
}

static void exchange_messages(void) {
    int i, in, out;
    for (i = 0; i < 2000; ++i) {
        MPI_Request requests[2];
        out = i;
        MPI_Irecv(&in, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (in != i) MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* How often this thread has given up its core voluntarily. */
static long own_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* Only messages and computing: which threads run while the program computes. */
static void computes(void) {
    volatile double sum = 0;
    long own, others, i;
    exchange_messages();
    MPI_Barrier(MPI_COMM_WORLD);
    own = own_switches();
    others = switches_of_others();
    for (i = 1; i < 20000000; ++i) sum += 1.0 / (double)i;
    others = switches_of_others() - others;
    own = own_switches() - own;
    printf("rank %d: switches %ld own switches %ld\n", rank, others, own);
    exchange_messages();
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* Rank 0 comes late: how much of a core the others use meanwhile. */
static void waits(void) {
    struct rusage before, after;
    struct timespec begin, end, pause = {1, 0};
    MPI_Request request;
    double used, elapsed;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) nanosleep(&pause, NULL);
    getrusage(RUSAGE_SELF, &before);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &after);
    used = seconds_of(after.ru_utime) + seconds_of(after.ru_stime) - seconds_of(before.ru_utime) -
           seconds_of(before.ru_stime);
    elapsed = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    if (rank > 0) printf("rank %d: percent %.0f\n", rank, 100 * used / elapsed);
}

static double ms_since(struct timespec begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin.tv_sec) * 1e3 + (double)(now.tv_nsec - begin.tv_nsec) * 1e-6;
}

/* Rank 0 comes late, and the others wait for any of two operations, and then for some. */
static void waits_for_any(void) {
    const struct timespec pause = {0, 300000000};
    struct timespec begin;
    MPI_Request requests[2];
    double any_ms, some_ms;
    int in = 1, out[2], places[2], count, done;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) nanosleep(&pause, NULL);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (done = 0; done < 2; ++done) MPI_Waitany(2, requests, places, MPI_STATUS_IGNORE);
    any_ms = ms_since(begin);
    if (rank == 0) nanosleep(&pause, NULL);
    MPI_Iallreduce(&in, &out[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&in, &out[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (done = 0; done < 2; done += count)
        MPI_Waitsome(2, requests, &count, places, MPI_STATUSES_IGNORE);
    some_ms = ms_since(begin);
    if (rank == 1) printf("rank 1: any %.3f some %.3f\n", any_ms, some_ms);
}

/* --- WEFT_MIN_BYTES=64: calls of 56 bytes and of 64 ------------------------------------------------ */

#define MOST 8 /* ranks */

/* The same `ints` described with another count and another type on each rank. */
typedef struct {
    MPI_Datatype type;
    int count;
} Ints;
static Ints ints_as(int ints, int way) {
    Ints made;
    if (way % 3 == 0) {
        MPI_Type_contiguous(1, MPI_INT, &made.type);
        made.count = ints;
    } else if (way % 3 == 1) {
        MPI_Type_contiguous(2, MPI_INT, &made.type);
        made.count = ints / 2;
    } else {
        MPI_Type_contiguous(ints, MPI_INT, &made.type);
        made.count = 1;
    }
    MPI_Type_commit(&made.type);
    return made;
}

static void expect(int condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 10);
}

static void finish(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

static void sized_calls(int ints) {
    int in[16 * MOST], out[16 * MOST], i;
    Ints a = ints_as(ints, rank), b = ints_as(ints, rank + 1);
    MPI_Request request;
    for (i = 0; i < 16 * MOST; ++i) in[i] = 100 * rank + i, out[i] = -1;
    if (rank == 0) memcpy(out, in, sizeof in);
    MPI_Ibcast(out, a.count, a.type, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[ints - 1] == ints - 1, "bcast");
    MPI_Iallgather(in, a.count, a.type, out, b.count, b.type, MPI_COMM_WORLD, &request);
    finish(&request);
    for (i = 0; i < ranks; ++i) expect(out[i * ints + 1] == 100 * i + 1, "allgather");
    out[rank * ints] = -rank;
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, b.count, b.type, MPI_COMM_WORLD,
                   &request);
    finish(&request);
    for (i = 0; i < ranks; ++i) expect(out[i * ints] == -i, "allgather in place");
    MPI_Igather(in, a.count, a.type, out, b.count, b.type, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    for (i = 0; i < ranks && rank == 0; ++i) expect(out[i * ints + 2] == 100 * i + 2, "gather");
    MPI_Iscatter(in, a.count, a.type, out, b.count, b.type, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[1] == rank * ints + 1, "scatter");
    MPI_Ialltoall(in, a.count, a.type, out, b.count, b.type, MPI_COMM_WORLD, &request);
    finish(&request);
    for (i = 0; i < ranks; ++i) expect(out[i * ints] == 100 * i + rank * ints, "alltoall");
    for (i = 0; i < 16 * MOST; ++i) in[i] = rank + i;
    MPI_Ireduce(in, out, ints, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(rank > 0 || out[ints - 1] == ranks - 1 + ints - 1, "reduce");
    MPI_Iallreduce(in, out, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[0] == ranks - 1, "allreduce");
    MPI_Iscan(in, out, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[0] == rank, "scan");
    MPI_Iexscan(in, out, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(rank == 0 || out[0] == rank - 1, "exscan");
    MPI_Ireduce_scatter_block(in, out, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[0] == ranks - 1 + rank * ints, "reduce_scatter_block");
    MPI_Type_free(&a.type);
    MPI_Type_free(&b.type);
}

static void calls_with_sizes_of_their_own(void) {
    int in[MOST], out[MOST], ones[MOST], displs[MOST], bytes[MOST], i;
    const int sides[1] = {ranks}, periods[1] = {1};
    MPI_Datatype types[MOST];
    MPI_Aint places[2] = {0, sizeof(int)};
    MPI_Request request;
    MPI_Comm ring;
    for (i = 0; i < MOST; ++i) {
        in[i] = 10 * rank + i;
        ones[i] = 1;
        displs[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    MPI_Igatherv(in, 1, MPI_INT, out, ones, displs, MPI_INT, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    MPI_Iscatterv(in, ones, displs, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    MPI_Iallgatherv(in, 1, MPI_INT, out, ones, displs, MPI_INT, MPI_COMM_WORLD, &request);
    finish(&request);
    MPI_Ialltoallv(in, ones, displs, MPI_INT, out, ones, displs, MPI_INT, MPI_COMM_WORLD, &request);
    finish(&request);
    MPI_Ialltoallw(in, ones, bytes, types, out, ones, bytes, types, MPI_COMM_WORLD, &request);
    finish(&request);
    expect(out[ranks - 1] == 10 * (ranks - 1) + rank, "alltoallw");
    MPI_Ireduce_scatter(in, out, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    finish(&request);
    MPI_Cart_create(MPI_COMM_WORLD, 1, sides, periods, 0, &ring);
    MPI_Ineighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring, &request);
    finish(&request);
    MPI_Ineighbor_allgatherv(in, 1, MPI_INT, out, ones, displs, MPI_INT, ring, &request);
    finish(&request);
    MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring, &request);
    finish(&request);
    MPI_Ineighbor_alltoallv(in, ones, displs, MPI_INT, out, ones, displs, MPI_INT, ring, &request);
    finish(&request);
    MPI_Ineighbor_alltoallw(in, ones, places, types, out, ones, places, types, ring, &request);
    finish(&request);
    MPI_Comm_free(&ring);
}

static void bounds(void) {
    MPI_Request request;
    sized_calls(14);
    sized_calls(16);
    calls_with_sizes_of_their_own();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    finish(&request);
    if (rank == 0) printf("right\n");
}

/* Only messages: reports the process's resources meanwhile. */
static void messages(void) {
    long switches;
    int level, threads, descriptors;
    MPI_Query_thread(&level);
    exchange_messages(); /* what the MPI opens when it is first needed */
    threads = entries("/proc/self/task");
    descriptors = entries("/proc/self/fd");
    switches = switches_of_others();
    exchange_messages();
    printf("rank %d: threads %d descriptors %d more threads %d more descriptors %d\n", rank,
           threads, descriptors, entries("/proc/self/task") - threads,
           entries("/proc/self/fd") - descriptors);
    printf("rank %d: switches %ld\n", rank, switches_of_others() - switches);
    printf("rank %d: level %d\n", rank, level);
}

/* A correct collective operation. */
static void reduce(void) {
    int in = rank + 1, out = 0;
    MPI_Request request;
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (out != ranks * (ranks + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0) printf("right\n");
}

/* The others wait for a barrier while rank 0 is inside a receive, whose message comes after the barrier. */
static void barrier(void) {
    int i, token;
    MPI_Request request;
    for (i = 0; i < 50; ++i) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        if (rank == 0) {
            MPI_Recv(&token, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (token != i) MPI_Abort(MPI_COMM_WORLD, 10);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == ranks - 1) MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("right\n");
}

static const void* first_stack; /* of the thread that has called main */

/* A sum that would be wrong in another thread. */
static void add_here(void* in, void* inout, int* count, MPI_Datatype* type) {
    const char here = 0;
    const long distance = (const char*)first_stack - &here;
    int i;
    (void)type;
    for (i = 0; i < *count; ++i) {
        if (distance < 0 || distance > 4000000) ((int*)inout)[i] = -1000000;
        ((int*)inout)[i] += ((int*)in)[i];
    }
}

/* Reductions with an operation that runs only in this thread. */
static void own_operation(void) {
    int round, i, in[700], out[700], token = 0;
    MPI_Op op;
    MPI_Request request;
    MPI_Op_create(add_here, 1, &op);
    for (round = 0; round < 40; ++round) {
        for (i = 0; i < 700; ++i) in[i] = rank + i;
        MPI_Iallreduce(in, out, 700, MPI_INT, op, MPI_COMM_WORLD, &request);
        if (rank == round % ranks)
            MPI_Recv(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if ((rank + ranks - 1) % ranks == round % ranks)
            MPI_Send(&token, 1, MPI_INT, round % ranks, 0, MPI_COMM_WORLD);
        for (i = 0; i < 700; ++i) {
            if (out[i] != ranks * i + ranks * (ranks - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 11);
        }
    }
    MPI_Op_free(&op);
    if (rank == 0) printf("right\n");
}

/* Open MPI 5 has them, although its header claims MPI-3. */
#if IS_MPI_4
/* A program that never calls MPI_Init. */
static void sessions(void) {
    int i, in, out = 0;
    MPI_Session session, second;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "small", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (i = 0; i < 3; ++i) {
        in = rank + i;
        MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (out != ranks * (ranks - 1) / 2 + i * ranks) MPI_Abort(comm, 12);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&second);
    if (rank == 0) printf("right\n");
    fflush(stdout);
    MPI_Session_finalize(&session);
}
#else
static void sessions(void) {}
#endif

/* A child without exec ends by itself, and leaves the parent's operations alone. */
static void forks(void) {
    int status = -1, i, in[5], out[5];
    MPI_Request requests[5];
    pid_t child;
    for (i = 0; i < 5; ++i) {
        in[i] = i;
        MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    }
    child = fork();
    if (child == 0) _exit(7);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) MPI_Abort(MPI_COMM_WORLD, 5);
    child = fork();
    if (child == 0) exit(8); /* runs what is registered with atexit, too */
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 8) MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 5; ++i) {
        if (out[i] != i * ranks) MPI_Abort(MPI_COMM_WORLD, 7);
    }
    reduce();
}

/* The last rank dies while the others wait for it. */
static void killed(void) {
    MPI_Request request;
    reduce();
    fflush(stdout);
    if (rank == ranks - 1) kill(getpid(), SIGKILL);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
}

/* The last rank is stopped for a while inside its wait. */
static void stopped(void) {
    struct timespec pause = {0, 100000000};
    MPI_Request request;
    int pid = getpid(), round;
    MPI_Bcast(&pid, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    for (round = 0; round < 3; ++round) {
        if (rank == 0) {
            nanosleep(&pause, NULL);
            kill(pid, SIGSTOP);
            nanosleep(&pause, NULL);
        }
        if (rank == 0 && round % 2 == 0) kill(pid, SIGCONT);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        if (rank == 0 && round % 2 == 1) { /* what it waits for has come before it goes on */
            nanosleep(&pause, NULL);
            kill(pid, SIGCONT);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    reduce();
}

static void aborts(void) {
    MPI_Request request;
    reduce();
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
}

/* More blocks than `faulty_mpi.c` lets rank 1 pack: it then sends the same bytes without gaps. */
static void packs(void) {
    enum { blocks = 77 };
    static int data[2 * blocks];
    int refused;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Type_vector(1, 1, 2, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) data[blocks - 1] = 5;
    refused = MPI_Ibcast(data, blocks, type, 1, MPI_COMM_WORLD, &request) != MPI_SUCCESS;
    if (refused) MPI_Ibcast(data, blocks, MPI_INT, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(refused == (rank == 1), "the refusal");
    expect(rank == 1 || data[2 * (blocks - 1)] == 5, "the broadcast");
    if (rank == 0) printf("right\n");
}

static MPI_Request late, started_late;
static int one = 1, late_sum, started_sum;

/* An older MPI has none. */
static void make_persistent(int* sum, MPI_Request* request) {
#if IS_MPI_4
    MPI_Allreduce_init(&one, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
#else
    *sum = ranks;
    MPI_Recv_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request);
#endif
}

/* MPI_Finalize calls it first: everything still works. */
static int at_end(MPI_Comm comm, int keyval, void* value, void* extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Start(&started_late);
    MPI_Wait(&started_late, MPI_STATUS_IGNORE);
    MPI_Request_free(&started_late);
    if (late_sum != ranks || started_sum != ranks) MPI_Abort(MPI_COMM_WORLD, 8);
    reduce();
    return MPI_SUCCESS;
}

static void finalizes_by_attribute(void) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Iallreduce(&one, &late_sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &late);
    make_persistent(&started_sum, &started_late);
}

static int operations_at_end(MPI_Comm comm, int keyval, void* value, void* extra) {
    (void)comm, (void)keyval, (void)value, (void)extra;
    own_operation();
    return MPI_SUCCESS;
}

static void finalizes_by_operations(void) {
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, operations_at_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
}

/* Requests that the program has forgotten. */
static void finalizes_with_requests(void) {
    static int sums[4];
    MPI_Request requests[4];
    int i;
    for (i = 0; i < 3; ++i)
        MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    make_persistent(&sums[3], &requests[3]);
    MPI_Start(&requests[3]);
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    reduce();
}

/* MPICH's extension: a program asks whether requests are complete, without a poll, and polls by itself. */
#ifdef MPIX_STREAM_NULL
static MPI_Request asked;
static int found_complete;
static int ask_in_poll(MPIX_Async_thing thing) {
    (void)thing;
    if (!MPIX_Request_is_complete(asked)) return MPIX_ASYNC_NOPROGRESS;
    found_complete = 1;
    return MPIX_ASYNC_DONE;
}

static void asks(int in_poll) {
    int round, i, out[3], in;
    MPI_Request requests[3];
    for (round = 0; round < 60; ++round) {
        const int is_persistent = round % 3 == 2;
        in = rank + round;
        if (is_persistent) {
            MPI_Allreduce_init(&in, &out[0], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &requests[0]);
            expect(MPIX_Request_is_complete(requests[0]), "a request that is not active");
            MPI_Start(&requests[0]);
        } else {
            MPI_Iallreduce(&in, &out[0], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
        }
        MPI_Iallreduce(&in, &out[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&out[2], 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Send(&round, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD);
        for (i = 0; i < 3; ++i) {
            found_complete = 0;
            asked = requests[i];
            if (in_poll) MPIX_Async_start(ask_in_poll, NULL, MPIX_STREAM_NULL);
            while (in_poll ? !found_complete : !MPIX_Request_is_complete(requests[i]))
                MPIX_Stream_progress(MPIX_STREAM_NULL);
        }
        expect(out[0] == ranks - 1 + round && out[1] == out[0] && out[2] == round, "a result");
        if (is_persistent) MPI_Request_free(&requests[0]);
        MPI_Waitall(3 - is_persistent, requests + is_persistent, MPI_STATUSES_IGNORE);
    }
    if (rank == 0) printf("right\n");
}
#else
static void asks(int in_poll) { (void)in_poll; }
#endif

/* Many outstanding at once. */
static void many(void) {
    static int given[10000], sums[10000];
    static MPI_Request requests[10000];
    int i, wrong = 0;
    for (i = 0; i < 10000; ++i) {
        given[i] = rank + i;
        MPI_Iallreduce(&given[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(10000, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 10000; ++i)
        wrong += sums[i] != ranks * (ranks - 1) / 2 + ranks * i || requests[i] != MPI_REQUEST_NULL;
    if (rank == 0) printf("%s\n", wrong == 0 ? "right" : "wrong");
}

/* One rank has no memory when it waits for many. */
static void lacks_memory(void) {
    enum { most = 1001 };
    static MPI_Request requests[most];
    int i, code, error_class = MPI_SUCCESS, wrong = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (i = 0; i < most; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
    code = MPI_Waitall(most, requests, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    expect(error_class == (rank == 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "the class of the error");
    for (i = 0; i < most; ++i) wrong += (requests[i] != MPI_REQUEST_NULL) != (rank == 1);
    expect(wrong == 0, "whether the requests are left");
    MPI_Waitall(most, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < most; ++i) wrong += requests[i] != MPI_REQUEST_NULL;
    expect(wrong == 0, "whether a second wait completes them");
    if (rank == 0) printf("right\n");
}

/* One rank has no memory when its MPI has made a communicator. */
static void constructor_lacks_memory(void) {
    enum { few = 3, many = 1009 };
    const int index[] = {few, few + many};
    static int edges[few + many];
    int i, sum = 0, one = 1, error_class = MPI_SUCCESS, code;
    MPI_Comm comm;
    MPI_Request request;
    for (i = 0; i < few; ++i) edges[i] = 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    expect(error_class == (rank == 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "the class of the error");
    MPI_Graph_create(MPI_COMM_WORLD, 2, index, edges, 0, &comm);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == 2, "the reduction on the next one");
    if (rank == 0) printf("right\n");
}

static int errors_handled, class_handled;
static void handle_error(MPI_Comm* comm, int* code, ...) {
    if (*comm == MPI_COMM_WORLD) ++errors_handled;
    MPI_Error_class(*code, &class_handled);
}

/* One rank has no memory when it starts: for a copy of its buffer, and inside of Weft. */
static void start_lacks_memory(void) {
    enum { bytes = 3001, doubles = 5056 / sizeof(double) };
    static unsigned char gapped[2 * bytes];
    static double sums[doubles];
    MPI_Errhandler handler;
    MPI_Datatype every_other;
    MPI_Request request;
    int i, turn, wrong = 0;
    MPI_Comm_create_errhandler(handle_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
    MPI_Type_commit(&every_other);
    for (i = 0; rank == 0 && i < 2 * bytes; ++i) gapped[i] = (unsigned char)(i % 251);
    for (i = 0; i < doubles; ++i) sums[i] = rank + i;
    for (turn = 0; turn < 2; ++turn) {
        int attempt;
        for (attempt = rank == 1 ? 0 : 1; attempt < 2; ++attempt) {
            const int code =
                turn == 0 ? MPI_Ibcast(gapped, bytes, every_other, 0, MPI_COMM_WORLD, &request)
                          : MPI_Iallreduce(MPI_IN_PLACE, sums, doubles, MPI_DOUBLE, MPI_SUM,
                                           MPI_COMM_WORLD, &request);
            expect((code != MPI_SUCCESS) == (attempt == 0), "whether the start is refused");
        }
        expect(errors_handled == (rank == 1 ? turn + 1 : 0), "how often the handler is called");
        expect(class_handled == (rank == 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "the error's class");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (i = 0; i < 2 * bytes; i += 2) wrong += gapped[i] != i % 251;
    for (i = 0; i < doubles; ++i) wrong += sums[i] != (double)(ranks * i + ranks * (ranks - 1) / 2);
    expect(wrong == 0, "the results");
    MPI_Type_free(&every_other);
    if (rank == 0) printf("right\n");
}

#if IS_MPI_4
/* One rank has no memory when it makes a persistent operation, and when it starts some, and one. */
static void persistent_lacks_memory(void) {
    enum { bytes = 3001 };
    static unsigned char gapped[2 * bytes];
    const int mine = rank + 1;
    int turn, attempt, sum = 0, refused = 0;
    MPI_Errhandler handler;
    MPI_Datatype every_other;
    MPI_Request requests[2];
    MPI_Comm_create_errhandler(handle_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
    MPI_Type_commit(&every_other);
    if (rank == 0) gapped[2 * (bytes - 1)] = 5;
    for (attempt = rank == 1 ? 0 : 1; attempt < 2; ++attempt)
        refused += MPI_Bcast_init(gapped, bytes, every_other, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                                  &requests[0]) != MPI_SUCCESS;
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[1]);
    for (turn = 0; turn < 3; ++turn) {
        for (attempt = rank == 1 && turn < 2 ? 0 : 1; attempt < 2; ++attempt)
            refused += (turn == 0 ? MPI_Startall(2, requests) : MPI_Start(&requests[1])) != 0;
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        expect(gapped[2 * (bytes - 1)] == 5, "the broadcast");
        expect(sum == ranks * (ranks + 1) / 2, "the sum");
        sum = 0;
    }
    expect(refused == (rank == 1 ? 3 : 0), "how often it is refused");
    expect(errors_handled == refused, "how often the handler is called");
    expect(class_handled == (rank == 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "the error's class");
    for (turn = 0; turn < 2; ++turn) MPI_Request_free(&requests[turn]);
    MPI_Type_free(&every_other);
    if (rank == 0) printf("right\n");
}
#endif

static const char* handled_by = "nobody";
static void handle_of_comm(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    handled_by = "the communicator";
    MPI_Error_class(*code, &class_handled);
}
static void handle_of_self(MPI_Comm* comm, int* code, ...) {
    handled_by = *comm == MPI_COMM_SELF ? "self" : "another";
    MPI_Error_class(*code, &class_handled);
}

/* A link fails: the communicator's handler learns of it, or if the program has freed that, MPI_COMM_SELF's. Nothing more
   can be started. */
static void loses_a_link(int is_freed) {
    static int out[MOST], in[MOST];
    MPI_Comm comm;
    MPI_Errhandler of_comm, of_self;
    MPI_Request request;
#if IS_MPI_4
    MPI_Request unused;
    int turn;
#endif
    int code;
    MPI_Comm_create_errhandler(handle_of_comm, &of_comm);
    MPI_Comm_create_errhandler(handle_of_self, &of_self);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, of_comm);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
#if IS_MPI_4
    MPI_Barrier_init(comm, MPI_INFO_NULL, &unused);
#endif
    MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request);
    if (is_freed) MPI_Comm_free(&comm);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d: %s, by %s, %s\n", rank, code == MPI_SUCCESS ? "no error" : "an error",
           handled_by, class_handled == MPI_ERR_OTHER ? "of class OTHER" : "of no class");
    fflush(stdout);
#if IS_MPI_4
    for (turn = 0; turn < 2; ++turn) {
        class_handled = MPI_SUCCESS;
        expect(MPI_Start(&unused) != MPI_SUCCESS && class_handled == MPI_ERR_OTHER,
               "a later start");
    }
    expect(MPI_Wait(&unused, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the wait for what has not begun");
    MPI_Request_free(&unused);
#endif
}

static MPI_Comm freed_at_exit;
static void finalize_at_exit(void) {
    reduce();
    MPI_Comm_free(&freed_at_exit);
    MPI_Finalize();
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    const char here = 0;
    int level;
    first_stack = &here;
    alarm(40);
    /* Registered before the MPI and its libraries register theirs: called after those. */
    if (!strcmp(what, "finalizes_at_exit")) atexit(finalize_at_exit);
    if (!strcmp(what, "moves") && chdir("/") != 0) return 1;
    if (!strcmp(what, "sessions")) {
        sessions();
        return 0;
    }
    /* A second argument: the level of threads, as a digit. */
    if (argc > 2)
        MPI_Init_thread(&argc, &argv,
                        argv[2][0] == '0'   ? MPI_THREAD_SINGLE
                        : argv[2][0] == '1' ? MPI_THREAD_FUNNELED
                        : argv[2][0] == '2' ? MPI_THREAD_SERIALIZED
                                            : MPI_THREAD_MULTIPLE,
                        &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "messages")) messages();
    if (!strcmp(what, "computes")) computes();
    if (!strcmp(what, "waits")) waits();
    if (!strcmp(what, "waits_for_any")) waits_for_any();
    if (!strcmp(what, "bounds")) bounds();
    if (!strcmp(what, "many")) many();
    if (!strcmp(what, "asks")) asks(0);
    if (!strcmp(what, "asks_in_poll")) asks(1);
    if (!strcmp(what, "lacks_memory")) lacks_memory();
    if (!strcmp(what, "start_lacks_memory")) start_lacks_memory();
#if IS_MPI_4
    if (!strcmp(what, "persistent_lacks_memory")) persistent_lacks_memory();
#endif
    if (!strcmp(what, "constructor_lacks_memory")) constructor_lacks_memory();
    if (!strcmp(what, "reduce") || !strcmp(what, "moves")) reduce();
    if (!strcmp(what, "finalizes_by_attribute")) finalizes_by_attribute();
    if (!strcmp(what, "finalizes_by_operations")) finalizes_by_operations();
    if (!strcmp(what, "packs")) packs();
    if (!strcmp(what, "finalizes_with_requests")) finalizes_with_requests();
    if (!strcmp(what, "finalizes_at_exit")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &freed_at_exit);
        reduce();
        exit(0);
    }
    if (!strcmp(what, "barrier")) barrier();
    if (!strcmp(what, "operation")) own_operation();
    if (!strcmp(what, "loses_a_link")) loses_a_link(0);
    if (!strcmp(what, "loses_a_link_freed")) loses_a_link(1);
    if (!strcmp(what, "forks")) forks();
    if (!strcmp(what, "killed")) killed();
    if (!strcmp(what, "stopped")) stopped();
    if (!strcmp(what, "aborts")) aborts();
    MPI_Finalize();
    return 0;
}
