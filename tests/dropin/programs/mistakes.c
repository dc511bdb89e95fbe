/* Wrong arguments of collectives, on one rank or on all: no rank may wait forever. Plain MPI.

     mpiexec -n 3 ./mistakes [pick=TEXT] [skip=TEXT ...] [every=N] [seed=N]

   A cell is a collective, a mistake, the ranks that make it, and a form: "gatherv overlap 0 nonblocking". Each is tried
   on a communicator of its own, where errors return. Prints a line for each with the class of every rank's error, and
   with "then" those of an allreduce that follows; "ok N cells" at the end. pick: only cells whose name has the text; skip: none of those;
   every: a part of the cells, chosen by the seed. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif

enum {
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    Reduce_scatter,
    Reduce_scatter_block,
    Scan,
    Exscan,
    Neighbor_allgather,
    Neighbor_allgatherv,
    Neighbor_alltoall,
    Neighbor_alltoallv,
    Neighbor_alltoallw,
    COLLECTIVES
};
static const char* const collectives[] = {"bcast",
                                          "gather",
                                          "gatherv",
                                          "scatter",
                                          "scatterv",
                                          "allgather",
                                          "allgatherv",
                                          "alltoall",
                                          "alltoallv",
                                          "alltoallw",
                                          "reduce",
                                          "allreduce",
                                          "reduce_scatter",
                                          "reduce_scatter_block",
                                          "scan",
                                          "exscan",
                                          "neighbor_allgather",
                                          "neighbor_allgatherv",
                                          "neighbor_alltoall",
                                          "neighbor_alltoallv",
                                          "neighbor_alltoallw"};

enum {
    none,
    overlap,
    alias,
    shifted,
    small,
    large,
    negative_send,
    negative_recv,
    null_type,
    uncommitted,
    wrong_root,
    null_send,
    null_recv,
    in_place_recv,
    more,
    null_op,
    wrong_op,
    null_counts,
    MISTAKES
};
static const char* const mistakes[] = {
    "nothing",       "overlap",       "alias",     "shifted",     "small",      "large",
    "negative_send", "negative_recv", "null_type", "uncommitted", "wrong_root", "null_send",
    "null_recv",     "in_place_recv", "more",      "null_op",     "wrong_op",   "null_counts"};
static const char* const forms[] = {"nonblocking", "persistent", "blocking"};

enum { ALL = -1, ROOT = 0, EACH = 2, ROOM = 96, GUARD = 64, UNTOUCHED = -7 };

static int rank, ranks;
static char cell[128];

struct Call {
    void *send, *recv;
    int send_count, recv_count, root;
    int *send_counts, *recv_counts, *send_displs, *recv_displs;
    MPI_Datatype send_type, recv_type;
    MPI_Datatype *send_types, *recv_types;
    MPI_Aint *send_bytes, *recv_bytes; /* displacements */
    int *send_ints, *recv_ints;        /* the same, for alltoallw */
    MPI_Op op;
};

static int is_reduction(int c) { return c >= Reduce && c <= Exscan; }
static int is_neighborly(int c) { return c >= Neighbor_allgather; }
static int has_root(int c) { return (c >= Bcast && c <= Scatterv) || c == Reduce; }
static int lists_sent(int c) {
    return c == Alltoallv || c == Alltoallw || c == Neighbor_alltoallv || c == Neighbor_alltoallw ||
           c == Scatterv;
}
static int lists_received(int c) {
    return c == Gatherv || c == Allgatherv || c == Alltoallv || c == Alltoallw ||
           c == Neighbor_allgatherv || c == Neighbor_alltoallv || c == Neighbor_alltoallw ||
           c == Reduce_scatter;
}
/* Whether a rank uses its send and its receive buffer. */
static int sends(int c, int who) {
    return c != Bcast && ((c != Scatter && c != Scatterv) || who == ROOT);
}
static int receives(int c, int who) {
    return c == Bcast || ((c != Gather && c != Gatherv && c != Reduce) || who == ROOT);
}

/* Whether the mistake can be made there. */
static int exists(int c, int mistake, int who) {
    const int place = who == ALL ? ROOT : who, both = sends(c, place) && receives(c, place);
    switch (mistake) {
        case none: return who == ALL;
        case overlap: return lists_received(c) && c != Reduce_scatter && receives(c, place);
        case alias:
        case shifted: return both;
        case small:
        case large: return both && !is_reduction(c) && !is_neighborly(c);
        case negative_send: return sends(c, place) && !is_reduction(c);
        case negative_recv: return receives(c, place) || is_reduction(c);
        case null_type:
        case uncommitted: return 1;
        case wrong_root: return has_root(c);
        case null_send: return sends(c, place);
        case null_recv: return receives(c, place) && !(c == Exscan && place == 0);
        case in_place_recv:
            return receives(c, place) && c != Scatter && c != Scatterv &&
                   !(c == Exscan && place == 0);
        case more: return who != ALL && (c == Bcast || is_reduction(c));
        case null_op:
        case wrong_op: return is_reduction(c);
        case null_counts:
            return (lists_sent(c) && sends(c, place)) || (lists_received(c) && receives(c, place));
        default: return 0;
    }
}

/* Whether Weft leaves the function to Open MPI (docs/preload.md). */
static int is_left(int c, int form) {
#ifdef OPEN_MPI
    if (form == 0) return c == Alltoallw || c == Neighbor_alltoallw;
    if (form == 1) return lists_sent(c) || lists_received(c);
#endif
    (void)c, (void)form;
    return 0;
}

static int start(int c, int form, const struct Call* a, MPI_Comm comm, MPI_Request* request) {
#if HAS_PERSISTENT
#define PERSISTENT(Name, ...) MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request)
#else
#define PERSISTENT(Name, ...) MPI_SUCCESS
#endif
#define CALL(Name, name, ...)                                          \
    case Name:                                                         \
        if (form == 0) return MPI_I##name(__VA_ARGS__, comm, request); \
        if (form == 1) return PERSISTENT(Name, __VA_ARGS__);           \
        return MPI_##Name(__VA_ARGS__, comm);
#define ONE_SENT a->send, a->send_count, a->send_type
#define ONE_RECEIVED a->recv, a->recv_count, a->recv_type
#define LIST_SENT a->send, a->send_counts, a->send_displs, a->send_type
#define LIST_RECEIVED a->recv, a->recv_counts, a->recv_displs, a->recv_type
#define REDUCED a->send, a->recv, a->recv_count, a->recv_type, a->op
    switch (c) {
        CALL(Bcast, bcast, ONE_RECEIVED, a->root)
        CALL(Gather, gather, ONE_SENT, ONE_RECEIVED, a->root)
        CALL(Gatherv, gatherv, ONE_SENT, LIST_RECEIVED, a->root)
        CALL(Scatter, scatter, ONE_SENT, ONE_RECEIVED, a->root)
        CALL(Scatterv, scatterv, LIST_SENT, ONE_RECEIVED, a->root)
        CALL(Allgather, allgather, ONE_SENT, ONE_RECEIVED)
        CALL(Allgatherv, allgatherv, ONE_SENT, LIST_RECEIVED)
        CALL(Alltoall, alltoall, ONE_SENT, ONE_RECEIVED)
        CALL(Alltoallv, alltoallv, LIST_SENT, LIST_RECEIVED)
        CALL(Alltoallw, alltoallw, a->send, a->send_counts, a->send_ints, a->send_types, a->recv,
             a->recv_counts, a->recv_ints, a->recv_types)
        CALL(Reduce, reduce, REDUCED, a->root)
        CALL(Allreduce, allreduce, REDUCED)
        CALL(Reduce_scatter, reduce_scatter, a->send, a->recv, a->recv_counts, a->recv_type, a->op)
        CALL(Reduce_scatter_block, reduce_scatter_block, REDUCED)
        CALL(Scan, scan, REDUCED)
        CALL(Exscan, exscan, REDUCED)
        CALL(Neighbor_allgather, neighbor_allgather, ONE_SENT, ONE_RECEIVED)
        CALL(Neighbor_allgatherv, neighbor_allgatherv, ONE_SENT, LIST_RECEIVED)
        CALL(Neighbor_alltoall, neighbor_alltoall, ONE_SENT, ONE_RECEIVED)
        CALL(Neighbor_alltoallv, neighbor_alltoallv, LIST_SENT, LIST_RECEIVED)
        CALL(Neighbor_alltoallw, neighbor_alltoallw, a->send, a->send_counts, a->send_bytes,
             a->send_types, a->recv, a->recv_counts, a->recv_bytes, a->recv_types)
    }
    return MPI_ERR_OTHER;
}

static int class_of(int code) {
    int error_class = MPI_ERR_OTHER;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_class(code, &error_class);
    return error_class;
}

static int run(int c, int form, const struct Call* a, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = start(c, form, a, comm, &request);
    if (code != MPI_SUCCESS || form == 2) return code;
    if (form == 1) {
        code = MPI_Start(&request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return code;
    }
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void hang(int number) {
    (void)number;
    if (write(2, "hang: ", 6) < 0 || write(2, cell, strlen(cell)) < 0 || write(2, "\n", 1) < 0)
        _exit(3);
    _exit(3);
}

static void fail(const char* what, const int* codes) {
    if (rank == 0) {
        fprintf(stderr, "wrong: %s: %s", cell, what);
        for (int i = 0; codes && i < ranks; ++i) fprintf(stderr, " %d", codes[i]);
        fprintf(stderr, "\n");
    }
    exit(1);
}

static int erring(const int* codes) {
    int number = 0;
    for (int i = 0; i < ranks; ++i) number += codes[i] != 0;
    return number;
}

static void try_cell(int c, int mistake, int who, int form, MPI_Datatype not_committed,
                     MPI_Comm world, MPI_Comm ring) {
    int sent[ROOM], received[ROOM], send_counts[8], recv_counts[8], send_displs[8], recv_displs[8],
        send_ints[8], recv_ints[8], codes[8], after[8], code, i, one = 1, sum = 0,
                                                                 own = is_neighborly(c) ? 0 : rank;
    MPI_Aint send_bytes[8], recv_bytes[8];
    MPI_Datatype send_types[8], recv_types[8];
    void* volatile null = NULL;
    unsigned hash = 2166136261u + (unsigned)rank, data = 0;
    const int block = EACH;
    const int is_mine = (who == ALL && exists(c, mistake, rank)) || rank == who;
    const int sends_list = lists_sent(c), recvs_list = lists_received(c);
    struct Call a;
    MPI_Comm comm;
    MPI_Comm_dup(is_neighborly(c) ? ring : world, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (i = 0; i < ROOM; ++i) sent[i] = rank, received[i] = UNTOUCHED;
    for (i = 0; i < 8; ++i) {
        send_counts[i] = recv_counts[i] = block;
        send_displs[i] = recv_displs[i] = block * i;
        send_types[i] = recv_types[i] = MPI_INT;
    }
    a.send = sent, a.recv = received;
    a.send_count = a.recv_count = block;
    a.root = ROOT;
    a.send_counts = send_counts, a.recv_counts = recv_counts;
    a.send_displs = send_displs, a.recv_displs = recv_displs;
    a.send_type = a.recv_type = MPI_INT;
    a.send_types = send_types, a.recv_types = recv_types;
    a.send_bytes = send_bytes, a.recv_bytes = recv_bytes;
    a.send_ints = send_ints, a.recv_ints = recv_ints;
    a.op = MPI_SUM;
    if (is_mine) switch (mistake) {
            case overlap:
                for (i = 0; i < 8; ++i) recv_displs[i] = (c + form) % 2 ? i : 0;
                break;
            case alias:
                a.send = received;
                if (c == Scatter || c == Scatterv)
                    a.recv = received + block * rank;
                else if (c >= Gather && c <= Allgatherv)
                    a.send = received + block * rank;
                for (i = 0; i < GUARD; ++i) received[i] = rank;
                break;
            case shifted:
                for (i = 0; i < GUARD; ++i) received[i] = rank;
                a.send = received + 1;
                break;
            case small:
            case large:
                *(sends_list ? &send_counts[own] : &a.send_count) += mistake == small ? -1 : 1;
                break;
            case negative_send: *(sends_list ? &send_counts[1] : &a.send_count) = -1; break;
            case negative_recv: *(recvs_list ? &recv_counts[1] : &a.recv_count) = -1; break;
            case null_type:
            case uncommitted:
                for (i = 0; i < 8; ++i)
                    send_types[i] = recv_types[i] =
                        mistake == null_type ? MPI_DATATYPE_NULL : not_committed;
                a.send_type = a.recv_type = send_types[0];
                break;
            case wrong_root: a.root = ranks + 3; break;
            case null_send: a.send = null; break;
            case null_recv: a.recv = null; break;
            case in_place_recv: a.recv = MPI_IN_PLACE; break;
            case more:
                a.recv_count += 3;
                recv_counts[0] += 3;
                break;
            case null_op: a.op = MPI_OP_NULL; break;
            case wrong_op:
                a.recv_type = MPI_DOUBLE;
                a.op = MPI_BAND;
                break;
            case null_counts:
                if (sends_list)
                    a.send_counts = null;
                else
                    a.recv_counts = null;
                break;
            default: break;
        }
    for (i = 0; i < 8; ++i) {
        send_ints[i] = send_displs[i] * (int)sizeof(int),
        recv_ints[i] = recv_displs[i] * (int)sizeof(int);
        send_bytes[i] = send_ints[i], recv_bytes[i] = recv_ints[i];
    }
    alarm(20);
    code = class_of(run(c, form, &a, comm));
    PMPI_Allgather(&code, 1, MPI_INT, codes, 1, MPI_INT, MPI_COMM_WORLD);
    if (getenv("MISTAKES_ALONE")) {
        for (i = 0; i < ranks; ++i) after[i] = codes[i];
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        code = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
        if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        code = class_of(code);
        PMPI_Allgather(&code, 1, MPI_INT, after, 1, MPI_INT, MPI_COMM_WORLD);
    }
    for (i = 0; i < GUARD; ++i) hash = (hash ^ (unsigned)received[i]) * 16777619u;
    PMPI_Reduce(&hash, &data, 1, MPI_UNSIGNED, MPI_BXOR, 0, MPI_COMM_WORLD);
    alarm(0);
    if (rank == 0) {
        printf("%s:", cell);
        for (i = 0; i < ranks; ++i) printf(" %d", codes[i]);
        printf(" then");
        for (i = 0; i < ranks; ++i) printf(" %d", after[i]);
        printf(" data %08x\n", data);
        fflush(stdout);
    }
    for (i = GUARD; i < ROOM; ++i)
        if (received[i] != UNTOUCHED) fail("memory behind the buffer was written", NULL);
    if (!getenv("MISTAKES_ALONE")) {
        if (erring(after) != 0 && erring(after) != ranks) fail("not all ranks learn of it", after);
        if (mistake == none && erring(codes) > 0) fail("a right call has failed", codes);
        if (who != ALL && codes[who] != 0 && erring(codes) < ranks && erring(after) < ranks)
            fail("others do not learn of it", after);
        if (erring(codes) == 0 && erring(after) > 0) fail("an error comes late", after);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
    const char *pick = "", *skip[64];
    unsigned long every = 1, state = 1;
    int c, mistake, who, form, cells = 0, period = 1, skips = 0, i, k;
    MPI_Datatype not_committed;
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "pick=", 5)) pick = argv[i] + 5;
        if (!strncmp(argv[i], "skip=", 5) && skips < 64) skip[skips++] = argv[i] + 5;
        if (!strncmp(argv[i], "every=", 6)) every = strtoul(argv[i] + 6, NULL, 10);
        if (!strncmp(argv[i], "seed=", 5)) state += strtoul(argv[i] + 5, NULL, 10);
    }
    signal(SIGALRM, hang);
    MPI_Type_contiguous(1, MPI_INT, &not_committed);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &period, 0, &ring);
    for (c = 0; c < COLLECTIVES; ++c)
        for (mistake = 0; mistake < MISTAKES; ++mistake)
            for (who = ALL; who < 2; ++who)
                for (form = 0; form < 3; ++form) {
                    char name[8];
                    snprintf(name, sizeof name, "%d", who);
                    snprintf(cell, sizeof cell, "%s %s %s %s", collectives[c], mistakes[mistake],
                             who == ALL ? "all" : name, forms[form]);
                    if (!exists(c, mistake, who) || is_left(c, form)) continue;
                    if (form == 1 && !HAS_PERSISTENT) continue;
                    for (k = 0; k < skips && !strstr(cell, skip[k]);) ++k;
                    if (!strstr(cell, pick) || k < skips) continue;
                    state = state * 6364136223846793005ul + 1442695040888963407ul;
                    if ((state >> 33) % every != 0) continue;
                    try_cell(c, mistake, who, form, not_committed, MPI_COMM_WORLD, ring);
                    ++cells;
                }
    MPI_Type_free(&not_committed);
    MPI_Comm_free(&ring);
    if (rank == 0) printf("ok %d cells\n", cells);
    MPI_Finalize();
    return 0;
}
