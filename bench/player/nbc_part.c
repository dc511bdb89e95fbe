/* The collectives of LibNBC's interface, for the bench: compiled by an MPI's mpicc with the <nbc.h> of LibNBC, or with Weft's. */
#include <stdio.h>
#include <string.h>

#include <nbc.h>

#include "mpi_collectives.h"

static NBC_Handle handles[pending_max];
static int pending;

static void must(int code, const char* name) {
    char text[80];
    if (code == NBC_OK) return;
    snprintf(text, sizeof text, "%s returns %d", name, code);
    stop("NBC_", text);
}

static int test(void) {
    for (; pending > 0; --pending) {
        const int code = NBC_Testold(&handles[pending - 1]);
        if (code == NBC_CONTINUE) return 0;
        must(code, "Test");
    }
    return 1;
}

static void wait_for_all(void) {
    int i;
    MPI_Status status;
    for (i = 0; i < pending; ++i) must(NBC_Wait(&handles[i], &status), "Wait");
    pending = 0;
}

#define DEFINE(name, Start, Call, before, ...)                       \
    static void start_##name(const weft_rival_data* data) {          \
        before;                                                      \
        if (pending == pending_max) stop("too many operations", ""); \
        must(NBC_##Start(__VA_ARGS__, &handles[pending]), #Start);   \
        ++pending;                                                   \
    }                                                                \
    static void call_##name(const weft_rival_data* data) {           \
        start_##name(data);                                          \
        wait_for_all();                                              \
    }
#define ENTRY(name, Start, Call, before, ...) {"i" #name, start_##name, call_##name},

FOR_COLLECTIVES_OF_LIBNBC(DEFINE)
#ifdef WEFT_NBC_H
ALLTOALLW(DEFINE)
#else
#undef ALLTOALLW
#define ALLTOALLW(X)
#endif

static const weft_rival_collective collectives[] = {FOR_COLLECTIVES_OF_LIBNBC(ENTRY)
                                                        ALLTOALLW(ENTRY)};

static const weft_rival_collective* find(const char* name) {
    size_t i;
    for (i = 0; i < sizeof collectives / sizeof collectives[0]; ++i)
        if (strcmp(collectives[i].name, name) == 0) return &collectives[i];
    return NULL;
}

static void use(int whose) {
    (void)whose;
    comm = WORLD;
    MPI_Comm_size(comm, &ranks);
}

static void barrier(void) {
    MPI_Barrier(WORLD);
    (void)types; /* only alltoallw, which LibNBC lacks, uses them */
}

/* All have left the operations before, so that no rank's engine changes within one. */
static void turn(int begins) {
    start_barrier(NULL);
    wait_for_all();
#ifdef WEFT_NBC_H
    if (weft_set_engine(begins ? WEFT_ENGINE_AUTO : WEFT_ENGINE_MANUAL) != WEFT_OK)
        stop("weft_set_engine: ", weft_last_detail());
#else
    (void)begins;
#endif
}

const weft_rival_part weft_rival = {NULL,    NULL, use,  find, test, wait_for_all,
                                    barrier, NULL, NULL, NULL, turn};
