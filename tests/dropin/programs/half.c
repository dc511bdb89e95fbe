/* A process of which only a part calls Weft's wrappers. Plain MPI: nothing here knows about Weft.
   With IS_PLUGIN: a library that is opened with RTLD_DEEPBIND, and so calls the MPI's own functions.
   With IS_OPENER: a program that is not linked with the MPI. It opens its library, argv[1], as Julia's MPI.jl does, and
   looks its functions up among all names of the process. Otherwise a program that opens the plugin, argv[1], and does
   what argv[2] says; with
   argv[3] at MPI_THREAD_MULTIPLE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS 6
#define WAYS 9

#if defined(IS_PLUGIN)

/* Completes all of them in one of several ways. (Names no constants: Open MPI's are variables, of which RTLD_DEEPBIND
   finds the wrong copies.) */
void plugin_completes(MPI_Request* requests, int way) {
    int i, flag = 0, index, count, indices[REQUESTS];
    MPI_Status statuses[REQUESTS];
    switch (way) {
        case 0:
            for (i = 0; i < REQUESTS; ++i) MPI_Wait(&requests[i], &statuses[i]);
            break;
        case 1:
            for (i = 0; i < REQUESTS; ++i) {
                for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, &statuses[i]);
            }
            break;
        case 2: MPI_Waitall(REQUESTS, requests, statuses); break;
        case 3:
            while (!flag) MPI_Testall(REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
            break;
        case 4:
            for (i = 0; i < REQUESTS; ++i) MPI_Waitany(REQUESTS, requests, &index, statuses);
            break;
        case 5:
            for (i = 0; i < REQUESTS; i += flag && index != MPI_UNDEFINED)
                MPI_Testany(REQUESTS, requests, &index, &flag, statuses);
            break;
        case 6:
            for (i = 0; i < REQUESTS; i += count)
                MPI_Waitsome(REQUESTS, requests, &count, indices, statuses);
            break;
        case 7:
            for (i = 0; i < REQUESTS; i += count)
                MPI_Testsome(REQUESTS, requests, &count, indices, statuses);
            break;
        default:
            for (i = 0; i < REQUESTS; ++i) {
                for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, statuses);
                MPI_Request_free(&requests[i]);
            }
    }
}

void plugin_frees(MPI_Request* request) { MPI_Request_free(request); }

void plugin_starts(const int* in, int* out, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
    MPI_Iallreduce(in, out, 1, type, op, comm, request);
}

#elif defined(IS_OPENER)

static void* all; /* names of the process */

static void* found(const char* name) {
    void* const address = dlsym(all, name);
    if (address) return address;
    fprintf(stderr, "there is no %s\n", name);
    exit(1);
}

/* Open MPI's constants are variables. */
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)found("ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)found("ompi_mpi_int"))
#define SUM ((MPI_Op)found("ompi_mpi_op_sum"))
#else
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#define SUM MPI_SUM
#endif

int main(int argc, char** argv) {
    int (*init)(int*, char***);
    int (*rank_of)(MPI_Comm, int*);
    int (*size_of)(MPI_Comm, int*);
    int (*sum_of)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
    int (*wait)(MPI_Request*, MPI_Status*);
    int (*finalize)(void);
    int rank, ranks, out = 0;
    MPI_Request request;
    alarm(40);
    if (argc < 2 || !dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL)) return 1;
    all = dlopen(NULL, RTLD_NOW);
    *(void**)&init = found("MPI_Init");
    *(void**)&rank_of = found("MPI_Comm_rank");
    *(void**)&size_of = found("MPI_Comm_size");
    *(void**)&sum_of = found("MPI_Iallreduce");
    *(void**)&wait = found("MPI_Wait");
    *(void**)&finalize = found("MPI_Finalize");
    init(NULL, NULL);
    rank_of(WORLD, &rank);
    size_of(WORLD, &ranks);
    sum_of(&rank, &out, 1, INT, SUM, WORLD, &request);
    wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) printf("%s\n", out == ranks * (ranks - 1) / 2 ? "right" : "wrong");
    finalize();
    return 0;
}

#else

static int rank, ranks;
static void (*completes)(MPI_Request*, int);
static void (*frees)(MPI_Request*);
static void (*starts)(const int*, int*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);

static void expect(int condition, const char* what, int way) {
    if (condition) return;
    fprintf(stderr, "rank %d: %s is wrong, way %d\n", rank, what, way);
    MPI_Abort(MPI_COMM_WORLD, 10);
}

/* The program starts, and the plugin completes: sums, a broadcast with gaps, and a message beside them. */
static void plugin_completes(void) {
    int round, i;
    MPI_Datatype every_other;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (round = 0; round < 10 * WAYS; ++round) {
        const int way = round % WAYS;
        int in[REQUESTS], out[REQUESTS], gapped[6] = {0, -1, 0, -1, 0, -1}, message = -1;
        MPI_Request requests[REQUESTS], own;
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (i = 0; i < REQUESTS; ++i) in[i] = rank + i + round, out[i] = -1;
        if (rank == 0) gapped[0] = round, gapped[4] = way;
        for (i = 0; i < REQUESTS - 2; ++i)
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, i % 2 ? comm : MPI_COMM_WORLD,
                           &requests[i]);
        MPI_Ibcast(gapped, 1, every_other, 0, comm, &requests[REQUESTS - 2]);
        if (way == WAYS - 1)
            MPI_Ibarrier(comm, &requests[REQUESTS - 1]);
        else
            MPI_Irecv(&message, 1, MPI_INT, (rank + 1) % ranks, 0, comm, &requests[REQUESTS - 1]);
        MPI_Iallreduce(&in[0], &out[REQUESTS - 1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &own);
        if (way != WAYS - 1) MPI_Send(&round, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, comm);
        MPI_Comm_free(&comm);
        completes(requests, way);
        for (i = 0; i < REQUESTS; ++i) expect(requests[i] == MPI_REQUEST_NULL, "a request", way);
        MPI_Wait(&own, MPI_STATUS_IGNORE);
        for (i = 0; i < REQUESTS - 2; ++i)
            expect(out[i] == ranks * (ranks - 1) / 2 + ranks * (i + round), "a sum", way);
        expect(out[REQUESTS - 1] == ranks - 1 + round, "the maximum", way);
        expect(gapped[0] == round && gapped[4] == way && gapped[1] == -1, "the broadcast", way);
        expect(way == WAYS - 1 || message == round, "the message", way);
    }
    MPI_Type_free(&every_other);
}

/* The plugin frees operations that go on. */
static void plugin_frees(void) {
    int round;
    for (round = 0; round < 20; ++round) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        frees(&request);
        expect(request == MPI_REQUEST_NULL, "a freed request", round);
    }
}

/* The plugin starts the MPI's own operations, and the program completes these beside its own. */
static void plugin_starts(void) {
    int round, i;
    for (round = 0; round < 100; ++round) {
        int in[4], out[4];
        MPI_Request requests[4];
        for (i = 0; i < 4; ++i) {
            in[i] = rank + i + round;
            if (i % 2 == 0)
                starts(&in[i], &out[i], MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        }
        if (round % 2)
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        else
            for (i = 3; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (i = 0; i < 4; ++i)
            expect(out[i] == ranks * (ranks - 1) / 2 + ranks * (i + round), "a sum", round);
    }
}

int main(int argc, char** argv) {
    void* plugin;
    int level;
    alarm(40);
    if (argc < 3 || !(plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND))) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void**)&completes = dlsym(plugin, "plugin_completes");
    *(void**)&frees = dlsym(plugin, "plugin_frees");
    *(void**)&starts = dlsym(plugin, "plugin_starts");
    if (argc > 3)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(argv[2], "completes")) plugin_completes();
    if (!strcmp(argv[2], "frees")) plugin_frees();
    if (!strcmp(argv[2], "starts")) plugin_starts();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("right\n");
    MPI_Finalize();
    return 0;
}

#endif
