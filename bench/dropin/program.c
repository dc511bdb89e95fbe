/* An MPI program that knows nothing of Weft, for `weft bench dropin`: run with and without the library preloaded.

     program overlap FILE CORES BURST COLLECTIVES SIZES REPETITIONS WORK
     program latency FILE CORES BURST COLLECTIVES SIZES TURNS
     program blocking FILE CORES BURST COLLECTIVES SIZES TURNS
     program calls FILE CORES BURST - - TURNS
     program stub FILE CORES BURST - - TURNS

   COLLECTIVES: ibcast,iallreduce; of `blocking` bcast,allreduce; SIZES: bytes of a block, 65536,1048576. Rank r stays on
   the r-th of CORES ("-": not bound). A link may let BURST bytes through at once after a pause: that many are sent before
   larger operations. Rank 0 appends its rows to FILE; times are the slowest rank's, in microseconds:

     version TEXT
     overlap ibcast 65536 ITERATIONS WORK BLOCKING TOTAL    a repetition
     latency ibcast 8 OUTSTANDING TIME NATIVE               a turn: medians of its operations
     blocking bcast 8 0 TIME NATIVE                         a turn: the same for blocking operations
     init TIME                                              MPI_Init, with `calls`
     calls MPI_Wait TIME NATIVE                             a turn: a call that has nothing to do, in nanoseconds
     stub MPI_Wait TIME NATIVE                              a turn: such a call, handed on by the library before the MPI

   The work of a cell is in the file WORK, in lines such as "ibcast 65536 ITERATIONS"; if there is no such file, rank 0
   writes it, with work as long as the operation. All others call MPI_X and, by its address in the MPI, PMPI_X. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    root = 0,
    repetitions_max = 10000,
    outstanding_max = 100,
    outstanding_bytes_max = 64,
    small_bytes = 4096
};

static int rank, ranks;
static FILE* results;
static int burst;
static char *sent, *received;
static char *send_memory, *receive_memory;

static void stop(const char* why, const char* what) {
    fprintf(stderr, "bench/dropin/program: %s%s\n", why, what);
    exit(1);
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* --- Fixed work, which never looks at a clock -------------------------------------------------------------------- */

static void work(long long iterations) {
    unsigned long long x = 1;
    long long i;
    for (i = 0; i < iterations; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double calibrated_us(void) {
    enum { runs = 9, iterations = 100000 };
    double samples[runs];
    int i;
    for (i = 0; i < runs; ++i) {
        const double begin = now_us();
        work(iterations);
        samples[i] = (now_us() - begin) / iterations;
    }
    return median(samples, runs);
}

/* --- The functions that are measured ----------------------------------------------------------------------------- */

/* MPI_X as the program was linked, or the MPI's own. */
struct functions {
    int (*Ibcast)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
    int (*Igather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                   MPI_Request*);
    int (*Iallgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                      MPI_Request*);
    int (*Ialltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                     MPI_Request*);
    int (*Ireduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*);
    int (*Iallreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
    int (*Ibarrier)(MPI_Comm, MPI_Request*);
    int (*Bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
    int (*Gather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
    int (*Allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
    int (*Alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
    int (*Reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*Allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*Barrier)(MPI_Comm);
    int (*Wait)(MPI_Request*, MPI_Status*);
    int (*Waitall)(int, MPI_Request[], MPI_Status[]);
    int (*Test)(MPI_Request*, int*, MPI_Status*);
};

static const struct functions linked = {
    MPI_Ibcast,    MPI_Igather, MPI_Iallgather, MPI_Ialltoall, MPI_Ireduce,  MPI_Iallreduce,
    MPI_Ibarrier,  MPI_Bcast,   MPI_Gather,     MPI_Allgather, MPI_Alltoall, MPI_Reduce,
    MPI_Allreduce, MPI_Barrier, MPI_Wait,       MPI_Waitall,   MPI_Test};
static struct functions native;

#define FIND(functions, name, library, prefix)                       \
    if (!(*(void**)& functions.name = dlsym(library, prefix #name))) \
    stop("there is no " prefix, #name)

static void find_native(void) {
    /* A function that no tool replaces: it is in the MPI's library. */
    void* const known = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    void* library;
    Dl_info where;
    if (!known || !dladdr(known, &where)) stop("the MPI's library is not found", "");
    library = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_NOW);
    if (!library) stop(dlerror(), "");
#define FIND_NATIVE(name) FIND(native, name, library, "PMPI_")
    FIND_NATIVE(Ibcast);
    FIND_NATIVE(Igather);
    FIND_NATIVE(Iallgather);
    FIND_NATIVE(Ialltoall);
    FIND_NATIVE(Ireduce);
    FIND_NATIVE(Iallreduce);
    FIND_NATIVE(Ibarrier);
    FIND_NATIVE(Bcast);
    FIND_NATIVE(Gather);
    FIND_NATIVE(Allgather);
    FIND_NATIVE(Alltoall);
    FIND_NATIVE(Reduce);
    FIND_NATIVE(Allreduce);
    FIND_NATIVE(Barrier);
    FIND_NATIVE(Wait);
    FIND_NATIVE(Waitall);
    FIND_NATIVE(Test);
#undef FIND_NATIVE
}

/* Those of the library that is loaded before the MPI, by their addresses, too: a program may call `linked` through an
   entry of its own. */
static struct functions handed_on;
static void find_handed_on(void) {
    FIND(handed_on, Wait, RTLD_NEXT, "MPI_");
    FIND(handed_on, Waitall, RTLD_NEXT, "MPI_");
    FIND(handed_on, Test, RTLD_NEXT, "MPI_");
    if (handed_on.Wait == native.Wait || handed_on.Test == native.Test)
        stop("no library is between the program and the MPI", "");
}

#define WORLD MPI_COMM_WORLD
#define DOUBLES bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM

static void start_barrier(const struct functions* f, int bytes, MPI_Request* request) {
    (void)bytes;
    f->Ibarrier(WORLD, request);
}
static void start_bcast(const struct functions* f, int bytes, MPI_Request* request) {
    f->Ibcast(rank == root ? sent : received, bytes, MPI_BYTE, root, WORLD, request);
}
static void start_gather(const struct functions* f, int bytes, MPI_Request* request) {
    f->Igather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, root, WORLD, request);
}
static void start_allgather(const struct functions* f, int bytes, MPI_Request* request) {
    f->Iallgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, WORLD, request);
}
static void start_alltoall(const struct functions* f, int bytes, MPI_Request* request) {
    f->Ialltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, WORLD, request);
}
static void start_reduce(const struct functions* f, int bytes, MPI_Request* request) {
    f->Ireduce(sent, received, DOUBLES, root, WORLD, request);
}
static void start_allreduce(const struct functions* f, int bytes, MPI_Request* request) {
    f->Iallreduce(sent, received, DOUBLES, WORLD, request);
}

static void call_barrier(const struct functions* f, int bytes) {
    (void)bytes;
    f->Barrier(WORLD);
}
static void call_bcast(const struct functions* f, int bytes) {
    f->Bcast(rank == root ? sent : received, bytes, MPI_BYTE, root, WORLD);
}
static void call_gather(const struct functions* f, int bytes) {
    f->Gather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, root, WORLD);
}
static void call_allgather(const struct functions* f, int bytes) {
    f->Allgather(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, WORLD);
}
static void call_alltoall(const struct functions* f, int bytes) {
    f->Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, WORLD);
}
static void call_reduce(const struct functions* f, int bytes) {
    f->Reduce(sent, received, DOUBLES, root, WORLD);
}
static void call_allreduce(const struct functions* f, int bytes) {
    f->Allreduce(sent, received, DOUBLES, WORLD);
}

/* Outstanding operations have separate buffers. */
static void use_buffers(int number, int bytes) {
    const size_t at = (size_t)number * (size_t)ranks * (size_t)bytes;
    sent = send_memory + at;
    received = receive_memory + at;
}

/* The blocks that a rank receives. */
enum blocks { of_root, sum, of_all, of_each };

struct collective {
    const char* name; /* of the nonblocking form; that of the blocking one follows the "i" */
    void (*start)(const struct functions*, int bytes, MPI_Request*);
    void (*call)(const struct functions*, int bytes);
    enum blocks result;
    int is_rooted; /* only the root receives */
};

static const struct collective collectives[] = {
    {"ibarrier", start_barrier, call_barrier, sum, 0}, /* of 0 bytes */
    {"ibcast", start_bcast, call_bcast, of_root, 0},
    {"igather", start_gather, call_gather, of_all, 1},
    {"iallgather", start_allgather, call_allgather, of_all, 0},
    {"ialltoall", start_alltoall, call_alltoall, of_each, 0},
    {"ireduce", start_reduce, call_reduce, sum, 1},
    {"iallreduce", start_allreduce, call_allreduce, sum, 0}};

static const struct collective* find_collective(const char* name) {
    size_t i;
    for (i = 0; i < sizeof collectives / sizeof *collectives; ++i) {
        if (strcmp(collectives[i].name + (*name != 'i'), name) == 0) return &collectives[i];
    }
    stop("no such collective: ", name);
    return NULL;
}

/* Small integers, whose sum is exact; different ones for each operation. */
static int seed;
static double element(int of_rank, int block, int i) {
    return ((of_rank + 1) * 1000 + block * 100 + ((i + seed) & 63));
}

static double* block_of(char* buffer, int block, int bytes) {
    return (double*)(void*)(buffer + (size_t)block * (size_t)bytes);
}

static void fill(const struct collective* collective, int bytes) {
    int block, i;
    ++seed;
    for (block = 0; block < (collective->result == of_each ? ranks : 1); ++block) {
        double* const at = block_of(sent, block, bytes);
        for (i = 0; i < bytes / (int)sizeof(double); ++i) at[i] = element(rank, block, i);
    }
    memset(received, 0, (size_t)(collective->result < of_all ? 1 : ranks) * (size_t)bytes);
}

static double expected(const struct collective* collective, int block, int i) {
    switch (collective->result) {
        case of_root: return element(root, 0, i);
        case of_all: return element(block, 0, i);
        case of_each: return element(block, rank, i);
        case sum: return ranks * (ranks + 1) / 2 * 1000.0 + ranks * ((i + seed) & 63);
    }
    return 0;
}

static void verify(const struct collective* collective, int bytes) {
    int block, i;
    if (collective->is_rooted && rank != root) return;
    if (collective->result == of_root && rank == root) return;
    for (block = 0; block < (collective->result < of_all ? 1 : ranks); ++block) {
        const double* const at = block_of(received, block, bytes);
        for (i = 0; i < bytes / (int)sizeof(double); ++i) {
            if (at[i] == expected(collective, block, i)) continue;
            fprintf(stderr, "bench/dropin/program: wrong result of %s, %d bytes, on rank %d\n",
                    collective->name, bytes, rank);
            MPI_Abort(WORLD, 1);
        }
    }
}

/* --- Measuring --------------------------------------------------------------------------------------------------- */

/* Replaces each time by that of the slowest rank. */
static void take_slowest(double* times, int count) {
    MPI_Allreduce(MPI_IN_PLACE, times, count, MPI_DOUBLE, MPI_MAX, WORLD);
}

/* Afterwards all ranks are ready, and a link has had no pause. */
static void prepare(int bytes) {
    MPI_Barrier(WORLD); /* what was measured last has arrived before anything else is sent */
    if (burst > 0 && bytes > small_bytes && (rank ^ 1) < ranks) {
        static char data[2][1 << 20];
        MPI_Sendrecv(data[0], burst, MPI_BYTE, rank ^ 1, 0, data[1], burst, MPI_BYTE, rank ^ 1, 0,
                     WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(WORLD);
}

static double blocking_us(const struct collective* collective, int bytes) {
    MPI_Request request;
    double begin, end;
    fill(collective, bytes);
    prepare(bytes);
    begin = now_us();
    collective->start(&linked, bytes, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    end = now_us();
    verify(collective, bytes);
    return end - begin;
}

static void warm_up(const struct collective* collective, int bytes) {
    use_buffers(0, bytes);
    blocking_us(collective, bytes);
    blocking_us(collective, bytes);
}

/* From the file, or as many as take as long as the operation. */
static long long iterations_of(const struct collective* collective, int bytes, FILE* known,
                               FILE* written, double each_us) {
    enum { pilots = 5 };
    long long iterations = 0;
    if (known) {
        char name[64];
        int of_bytes;
        rewind(known);
        while (fscanf(known, "%63s %d %lld", name, &of_bytes, &iterations) == 3) {
            if (of_bytes == bytes && strcmp(name, collective->name) == 0) return iterations;
        }
        stop("no work is known for ", collective->name);
    } else {
        double times[pilots];
        int i;
        for (i = 0; i < pilots; ++i) times[i] = blocking_us(collective, bytes);
        take_slowest(times, pilots);
        iterations = (long long)(median(times, pilots) / each_us) + 1;
        if (written) fprintf(written, "%s %d %lld\n", collective->name, bytes, iterations);
    }
    return iterations;
}

static void measure_overlap(const struct collective* collective, int bytes, int repetitions,
                            long long iterations) {
    static double times[3 * repetitions_max];
    int i;
    for (i = 0; i < repetitions; ++i) {
        MPI_Request request;
        double begin;
        MPI_Barrier(WORLD);
        begin = now_us();
        work(iterations);
        times[3 * i] = now_us() - begin;
        times[3 * i + 1] = blocking_us(collective, bytes);
        fill(collective, bytes);
        prepare(bytes);
        begin = now_us();
        collective->start(&linked, bytes, &request);
        work(iterations);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        times[3 * i + 2] = now_us() - begin;
        verify(collective, bytes);
    }
    take_slowest(times, 3 * repetitions);
    for (i = 0; results && i < repetitions; ++i) {
        fprintf(results, "overlap %s %d %lld %.3f %.3f %.3f\n", collective->name, bytes, iterations,
                times[3 * i], times[3 * i + 1], times[3 * i + 2]);
    }
}

/* Of an operation, or of some that are outstanding at once; blocking: 0 are outstanding. */
static void run_all(const struct functions* f, const struct collective* collective, int bytes,
                    int outstanding) {
    static MPI_Request requests[outstanding_max];
    int k;
    if (outstanding == 0) {
        collective->call(f, bytes);
        return;
    }
    for (k = 0; k < outstanding; ++k) {
        use_buffers(k, bytes);
        collective->start(f, bytes, requests + k);
    }
    if (outstanding == 1) {
        f->Wait(requests, MPI_STATUS_IGNORE);
    } else {
        f->Waitall(outstanding, requests, MPI_STATUSES_IGNORE);
    }
}

/* The median over operations, `outstanding` of which are started at a time. Both libraries' barriers precede each, in
   alternating order: the library that ran last has an advantage. */
static double turn_us(const struct functions* f, const struct collective* collective, int bytes,
                      int outstanding, int turn) {
    static double times[repetitions_max];
    const int warming = bytes > small_bytes ? 2 : 5;
    const int operations = outstanding > 1        ? 30
                           : bytes <= small_bytes ? 200
                           : bytes <= 1 << 18     ? 40
                                                  : 8;
    int i, k;
    for (i = -warming; i < operations; ++i) {
        double begin, end;
        for (k = 0; k == 0 || k < outstanding; ++k) {
            use_buffers(k, bytes);
            fill(collective, bytes);
        }
        prepare(bytes);
        for (k = 0; k < 2; ++k) {
            const struct functions* const of = k == turn % 2 ? &linked : &native;
            MPI_Request request;
            of->Ibarrier(WORLD, &request);
            of->Wait(&request, MPI_STATUS_IGNORE);
        }
        begin = now_us();
        run_all(f, collective, bytes, outstanding);
        end = now_us();
        if (i >= 0) times[i] = end - begin;
        verify(collective, bytes); /* with several: that of the last */
    }
    take_slowest(times, operations);
    return median(times, operations);
}

static void measure_latency(const struct collective* collective, int bytes, int outstanding,
                            int turns) {
    int turn, k;
    for (turn = 0; turn < turns; ++turn) {
        double times[2];
        for (k = 0; k < 2; ++k) {
            const int is_native = (k + turn / 2) % 2;
            times[is_native] =
                turn_us(is_native ? &native : &linked, collective, bytes, outstanding, turn);
        }
        if (results) {
            const int is_blocking = outstanding == 0;
            fprintf(results, "%s %s %d %d %.3f %.3f\n", is_blocking ? "blocking" : "latency",
                    collective->name + is_blocking, bytes, outstanding, times[0], times[1]);
        }
    }
}

static void wait_for_nothing(const struct functions* f) {
    MPI_Request none = MPI_REQUEST_NULL;
    f->Wait(&none, MPI_STATUS_IGNORE);
}
static void wait_for_no_requests(const struct functions* f) {
    f->Waitall(0, NULL, MPI_STATUSES_IGNORE);
}
static void test_nothing(const struct functions* f) {
    MPI_Request none = MPI_REQUEST_NULL;
    int flag;
    f->Test(&none, &flag, MPI_STATUS_IGNORE);
}

struct call {
    const char* name;
    void (*make)(const struct functions*);
};
static const struct call calls[] = {{"MPI_Wait", wait_for_nothing},
                                    {"MPI_Waitall", wait_for_no_requests},
                                    {"MPI_Test", test_nothing}};

static double call_ns(const struct functions* f, const struct call* call) {
    enum { runs = 9, iterations = 100000 };
    double times[runs];
    int i, k;
    for (i = 0; i < runs; ++i) {
        const double begin = now_us();
        for (k = 0; k < iterations; ++k) call->make(f);
        times[i] = (now_us() - begin) * 1e3 / iterations;
    }
    return median(times, runs);
}

/* On rank 0: `f` beside the MPI's own. */
static void measure_calls(const struct functions* f, const char* kind, int turns) {
    size_t i;
    int turn, k;
    for (i = 0; i < sizeof calls / sizeof *calls; ++i) {
        for (turn = 0; turn < turns; ++turn) {
            double times[2];
            for (k = 0; k < 2; ++k) {
                const int is_native = (k + turn) % 2;
                times[is_native] = call_ns(is_native ? &native : f, calls + i);
            }
            if (results)
                fprintf(results, "%s %s %.3f %.3f\n", kind, calls[i].name, times[0], times[1]);
        }
    }
}

/* --- The program ------------------------------------------------------------------------------------------------- */

/* Call it before MPI_Init, whose threads inherit the binding. */
static void bind_to_one_of(const char* cores) {
    static const char* const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    int list[CPU_SETSIZE], count = 0;
    size_t i;
    const char* at = cores;
    cpu_set_t set;
    if (*cores == '-') return;
    for (; at && count < CPU_SETSIZE; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        list[count++] = atoi(at);
    for (i = 0; i < sizeof names / sizeof *names; ++i) {
        const char* const text = getenv(names[i]);
        if (!text) continue;
        CPU_ZERO(&set);
        CPU_SET(list[atoi(text) % count], &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0)
            stop("cannot be bound to one of the cores ", cores);
        return;
    }
    stop("the launcher does not say which rank this is", "");
}

int main(int argc, char** argv) {
    const double each_us = calibrated_us();
    int is_overlap, is_blocking, is_calls, is_stub, repetitions, largest = 0;
    double init_us;
    FILE *known = NULL, *written = NULL;
    char *name, *size, *names_left, *sizes_left;
    if (argc < 8) stop("too few arguments", "");
    is_overlap = strcmp(argv[1], "overlap") == 0;
    is_blocking = strcmp(argv[1], "blocking") == 0;
    is_calls = strcmp(argv[1], "calls") == 0;
    is_stub = strcmp(argv[1], "stub") == 0;
    bind_to_one_of(argv[3]);
    burst = atoi(argv[4]);
    repetitions = atoi(argv[7]);
    if (repetitions > repetitions_max || burst > 1 << 20) stop("too many", "");

    init_us = now_us();
    MPI_Init(&argc, &argv);
    init_us = now_us() - init_us;
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &ranks);
    find_native();
    for (size = argv[6]; size; size = strchr(size, ',') ? strchr(size, ',') + 1 : NULL) {
        if (atoi(size) > largest) largest = atoi(size);
    }
    if (largest < outstanding_max * outstanding_bytes_max)
        largest = outstanding_max * outstanding_bytes_max;
    if (posix_memalign((void**)&send_memory, 4096, (size_t)largest * (size_t)ranks) != 0 ||
        posix_memalign((void**)&receive_memory, 4096, (size_t)largest * (size_t)ranks) != 0) {
        stop("no memory", "");
    }
    if (is_overlap && argc > 8) known = fopen(argv[8], "r");
    MPI_Barrier(WORLD); /* all have looked before one writes */
    if (rank == 0) {
        char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        results = fopen(argv[2], "a");
        if (!results) stop("cannot write ", argv[2]);
        if (is_overlap && argc > 8 && !known) written = fopen(argv[8], "w");
        MPI_Get_library_version(text, &length);
        text[strcspn(text, ",\r\n")] = '\0';
        fprintf(results, "version %s\n", text);
    }
    if (is_calls) {
        take_slowest(&init_us, 1);
        if (results) fprintf(results, "init %.3f\n", init_us);
        measure_calls(&linked, argv[1], repetitions);
    }
    if (is_stub) {
        find_handed_on();
        measure_calls(&handed_on, argv[1], repetitions);
    }
    for (name = is_calls || is_stub ? NULL : strtok_r(argv[5], ",", &names_left); name;
         name = strtok_r(NULL, ",", &names_left)) {
        const struct collective* const collective = find_collective(name);
        char* const sizes = strdup(argv[6]);
        const int has_size = collective->call != call_barrier;
        for (size = strtok_r(sizes, ",", &sizes_left); size;
             size = has_size ? strtok_r(NULL, ",", &sizes_left) : NULL) {
            const int bytes = has_size ? atoi(size) : 0;
            warm_up(collective, bytes);
            if (is_overlap) {
                double slowest_us = each_us;
                take_slowest(&slowest_us, 1);
                measure_overlap(collective, bytes, repetitions,
                                iterations_of(collective, bytes, known, written, slowest_us));
            } else if (is_blocking) {
                measure_latency(collective, bytes, 0, repetitions);
            } else {
                measure_latency(collective, bytes, 1, repetitions);
                if (bytes <= outstanding_bytes_max)
                    measure_latency(collective, bytes, outstanding_max, repetitions);
            }
        }
        free(sizes);
    }
    if (written) fclose(written);
    if (results && fclose(results) != 0) stop("cannot write ", argv[2]);
    MPI_Finalize();
    return 0;
}
