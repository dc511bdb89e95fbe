/* Every function in every form: sizes, roots, layouts, in place, absolute addresses; and reductions of all types with
   all operations defined for them. */
#include <string.h>

#include "corpus.h"

#define BATCH 6 /* outstanding at a time */

static int is_tried(Function function) {
    return !options.only || !strcmp(options.only, function_names[function]);
}

/* Calls of nonblocking or persistent forms that are outstanding together. */
typedef struct {
    Case cases[BATCH];
    int count, way;
} Batch;

static void finish(Batch* batch) {
    MPI_Request requests[BATCH];
    const Form form = batch->cases[0].spec.form;
    int round, i;
    if (batch->count == 0) return;
    for (round = 0; round < (form == PERSISTENT ? 2 : 1); ++round) {
        for (i = 0; i < batch->count; ++i) {
            if (form == PERSISTENT && round > 0) fill_case(&batch->cases[i]);
            requests[i] = batch->cases[i].request;
        }
        if (form == PERSISTENT && round == 0) CALL(MPI_Startall(batch->count, requests));
        if (form == PERSISTENT && round == 1) {
            for (i = 0; i < batch->count; ++i) CALL(MPI_Start(&requests[i]));
        }
        tell_case(&batch->cases[0]);
        if (form == PERSISTENT && is_skipped_for_persistent(batch->way % WAYS)) ++batch->way;
        complete(requests, batch->count, batch->way++ % WAYS, 0);
        for (i = 0; i < batch->count; ++i) {
            CHECK((requests[i] == MPI_REQUEST_NULL) == (form == NONBLOCKING));
            tell_case(&batch->cases[i]);
            check_case(&batch->cases[i]);
        }
    }
    for (i = 0; i < batch->count; ++i) {
        if (form == PERSISTENT) CALL(MPI_Request_free(&batch->cases[i].request));
        close_case(&batch->cases[i]);
    }
    batch->count = 0;
}

static void add(Batch* batch, Spec spec) {
    Case* of = &batch->cases[batch->count];
    if (is_left_out(&spec)) return;
    if (spec.form == BLOCKING) {
        run_case(spec);
        return;
    }
    open_case(of, spec);
    fill_case(of);
    CALL(call_case(of));
    forget_arguments(of);
    if (++batch->count == BATCH) finish(batch);
}

static void try_layouts(Batch* batch, Spec spec) {
    static const long sizes[] = {0, 1, 7, 1000};
    int s, layout, turn = 0;
    for (s = 0; s < 4; ++s) {
        for (layout = -1; layout <= LAYOUTS; ++layout) {
            const int unlike = (layout + 1 + turn) % (LAYOUTS + 2) - 1;
            spec.size = sizes[s];
            if (layout > 0 && sizes[s] == 1000) spec.size = 90;
            spec.send_layout = layout;
            spec.recv_layout = layout == PLAIN ? PLAIN : unlike;
            spec.base = turn % BASES;
            spec.root = turn % spec.group->ranks;
            spec.in_place = has_in_place(spec.function) && turn % 3 == 1;
            spec.absolute = turn % 5 == 2;
            spec.key = mixed(options.seed, (Word)(turn + 1000 * spec.function));
            ++turn;
            add(batch, spec);
        }
    }
    spec.absolute = 0;
    spec.size = 70000;
    spec.base = 0;
    spec.send_layout = spec.recv_layout = PLAIN;
    for (spec.in_place = 0; spec.in_place <= has_in_place(spec.function); ++spec.in_place)
        add(batch, spec);
    spec.in_place = 0;
    spec.size = 6000;
    spec.send_layout = VECTOR;
    spec.recv_layout = SHUFFLED;
    add(batch, spec);
}

static void try_numbers(Batch* batch, Spec spec) {
    static const long sizes[] = {0, 1, 7, 1000, 70000};
    int s;
    for (s = 0; s < 5; ++s) {
        for (spec.in_place = 0; spec.in_place < 2; ++spec.in_place) {
            spec.size = sizes[s];
            spec.root = (s + spec.in_place) % spec.group->ranks;
            spec.key = mixed(options.seed, (Word)(s + 1000 * spec.function));
            spec.number = number_at(0);
            spec.operation = SUM;
            add(batch, spec);
            spec.number = number_at(1);
            spec.operation = MAX;
            add(batch, spec);
            spec.number = number_at(0);
            spec.operation = USER_FIRST;
            add(batch, spec);
            spec.number = number_at(numbers() - 1 - s % 3);
            spec.operation = USER_AFFINE;
            add(batch, spec);
        }
    }
}

static void collectives(Form form) {
    Group world, topologies[TOPOLOGIES];
    Batch batch;
    Spec spec;
    int f, t;
#if !HAS_PERSISTENT
    if (form == PERSISTENT) return;
#endif
    memset(&spec, 0, sizeof spec);
    memset(&batch, 0, sizeof batch);
    spec.form = form;
    spec.large = options.large && has_large();
    group_from(&world, MPI_COMM_WORLD, "world");
    for (t = 0; t < TOPOLOGIES; ++t) make_topology(&topologies[t], t, MPI_COMM_WORLD);
    for (f = 0; f < FUNCTIONS; ++f) {
        spec.function = (Function)f;
        spec.group = &world;
        if (!is_tried(spec.function)) continue;
        if (is_neighbor(spec.function)) {
            for (t = 0; t < TOPOLOGIES; ++t) {
                spec.group = &topologies[t];
                try_layouts(&batch, spec);
            }
        } else if (is_reduction(spec.function)) {
            try_numbers(&batch, spec);
        } else if (spec.function == BARRIER) {
            for (t = 0; t < 10; ++t) add(&batch, spec);
        } else {
            try_layouts(&batch, spec);
        }
        finish(&batch);
    }
    for (t = 0; t < TOPOLOGIES; ++t) {
        if (topologies[t].comm != MPI_COMM_NULL) CALL(MPI_Comm_free(&topologies[t].comm));
    }
}

static void nonblocking(void) { collectives(NONBLOCKING); }
static void persistent(void) { collectives(PERSISTENT); }
static void blocking(void) { collectives(BLOCKING); }

const Section collective_sections[] = {
    {"nonblocking", nonblocking,
     "all 22 functions: sizes, layouts, roots, in place, absolute addresses"},
    {"persistent", persistent, "the same, initialised and started twice"},
    {"blocking", blocking, "the same, blocking"},
    {NULL, NULL, NULL}};

/* --- Reductions --------------------------------------------------------------------------------- */

static void reductions(Form form) {
    static const long sizes[] = {1, 7, 33, 260};
    Group world;
    Batch batch;
    Spec spec;
    int turn = 0, f, n, o;
#if !HAS_PERSISTENT
    if (form == PERSISTENT) return;
#endif
    memset(&spec, 0, sizeof spec);
    memset(&batch, 0, sizeof batch);
    spec.form = form;
    spec.large = options.large && has_large();
    spec.group = &world;
    group_from(&world, MPI_COMM_WORLD, "world");
    for (f = REDUCE; f <= EXSCAN; ++f) {
        if (!is_tried((Function)f)) continue;
        for (n = 0; n < numbers(); ++n) {
            for (o = 0; o < OPERATIONS; ++o) {
                spec.function = (Function)f;
                spec.number = number_at(n);
                spec.operation = (Operation)o;
                if (!suits(spec.number, spec.operation)) continue;
                spec.size = sizes[turn % 4];
                spec.root = turn % world.ranks;
                spec.in_place = turn % 3 == 1;
                spec.key = mixed(options.seed, (Word)turn);
                ++turn;
                add(&batch, spec);
            }
        }
        finish(&batch);
    }
}

static void nonblocking_reductions(void) { reductions(NONBLOCKING); }
static void persistent_reductions(void) { reductions(PERSISTENT); }
static void blocking_reductions(void) { reductions(BLOCKING); }

const Section reduction_sections[] = {
    {"nonblocking_reductions", nonblocking_reductions,
     "all types by all operations that suit them"},
    {"persistent_reductions", persistent_reductions, "the same, persistent"},
    {"blocking_reductions", blocking_reductions, "the same, blocking"},
    {NULL, NULL, NULL}};
