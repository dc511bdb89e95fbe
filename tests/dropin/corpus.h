/* Collectives of MPI as a program calls them, each with its result known in advance. Plain MPI: nothing here knows
   about Weft. A standalone program in one folder:

     mpicc -pthread -O1 *.c -o corpus && mpiexec -n 3 ./corpus SECTION [KEY=VALUE ...] [SECTION ...]
     LD_PRELOAD=.../libweft_mpi.so mpiexec -n 3 ./corpus SECTION ...

   `./corpus` alone lists the sections. KEY=VALUE holds for all of them:
     seed=N       decides the data and what is random
     count=N      of random operations
     only=NAME    a function
     large=1      the forms with MPI_Count
     forget=1     types and operations are freed, and argument arrays overwritten, as soon as a call returns,
                  also where the standard does not allow it and only Weft does
     skip=PATTERN leaves out calls whose description ("nonblocking gather on world of 4, size 7, ...") has it,
                  with * and ? as in a shell, from the beginning of a word on; may be repeated.
                  known_failures.txt has the MPIs' own failures.
     pick=PATTERN leaves out all others
     keep=1       goes on after a wrong result
     empty=1      statuses of collectives hold no data, also where the standard does not say so and only Weft does
     threads=LEVEL  asks for a level: single, funneled, serialized or multiple
   Ends with "ok N checks" and status 0, or names the first check that failed. */
#ifndef WEFT_TESTS_DROPIN_CORPUS_H
#define WEFT_TESTS_DROPIN_CORPUS_H

#include <mpi.h>
#include <stddef.h>

#define MAX_RANKS 8   /* of the job */
#define MAX_BLOCKS 24 /* of a call on one rank */

/* Persistent collectives came with MPI 4; Open MPI has them earlier. */
#if MPI_VERSION >= 4
#define HAS_PERSISTENT 1
#define HAS_LARGE 1
#elif defined(OMPI_MAJOR_VERSION)
#define HAS_PERSISTENT (OMPI_MAJOR_VERSION >= 5)
#define HAS_LARGE 0
#else
#define HAS_PERSISTENT 0
#define HAS_LARGE 0
#endif

/* The forms with MPI_Count; also where the header does not declare them, but the program finds them when it runs. */
int has_large(void);

/* MPI_Request_get_status_all and its kind. */
#define HAS_STATUS_OF_LISTS (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))

/* --- Checks ------------------------------------------------------------------------------------- */

extern int world_rank, world_ranks;
extern const char* program_path;
extern __thread unsigned long checks; /* of a thread */

/* What the rank is doing, for the message of a failed check or of a hang. */
void doing(const char* format, ...);
void fail(const char* file, int line, const char* format, ...);

#define CHECK(condition) ((condition) ? (void)++checks : fail(__FILE__, __LINE__, "%s", #condition))
#define CALL(call) expect_success(call, __FILE__, __LINE__, #call)
void expect_success(int code, const char* file, int line, const char* call);

struct Options {
    unsigned long seed;
    long count;
    const char* only;
    int large;
    int forget;
    int keep;
    int empty;
};
extern struct Options options;
/* Whether skip= or pick= leave out what has this description. */
int is_skipped(const char* description);
/* Whether a skip= has exactly this name. */
int is_listed(const char* name);

/* --- Seeded numbers ----------------------------------------------------------------------------- */

typedef unsigned long long Word;
Word mixed(Word a, Word b);
/* The next number below `limit`. */
long drawn(Word* state, long limit);

/* --- Communicators ------------------------------------------------------------------------------ */

typedef struct {
    MPI_Comm comm; /* MPI_COMM_NULL: this rank is not in it */
    const char* name;
    int rank, ranks;
    int is_cart;
    /* Neighbors of all its ranks; empty: no topology. */
    int ins[MAX_RANKS], outs[MAX_RANKS];
    int in[MAX_RANKS][MAX_BLOCKS], out[MAX_RANKS][MAX_BLOCKS];
    int has_topology;
} Group;

/* Learns the rest from the communicator. Collective on it. */
void group_from(Group* group, MPI_Comm comm, const char* name);
/* The topologies on which neighbor collectives are tried. */
#define TOPOLOGIES 6
void make_topology(Group* group, int which, MPI_Comm parent);
/* Which of the source's blocks arrives as this rank's block `at`. */
int slot_at_source(const Group* group, int at);

/* --- Functions ---------------------------------------------------------------------------------- */

typedef enum {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    FUNCTIONS
} Function;
extern const char* const function_names[FUNCTIONS];
int is_reduction(Function function);
int is_rooted(Function function);
int is_neighbor(Function function);
int has_in_place(Function function);

typedef enum { NONBLOCKING, PERSISTENT, BLOCKING, FORMS } Form;
extern const char* const form_names[FORMS];

/* --- Data that is moved: blocks of units, each unit an element of a base type ------------------- */

#define BASES 10
#define LAYOUTS 6
enum { PLAIN, CONTIGUOUS, VECTOR, NEGATIVE, RESIZED, SHUFFLED, TRANSPOSED, EACH_ITS_OWN = -1 };
extern const char* const layout_names[];

/* --- Data that is combined ---------------------------------------------------------------------- */

typedef struct {
    const char* name;
    MPI_Datatype type; /* MPI_DATATYPE_NULL: the MPI lacks it */
    int kind;
    long extent;
    long part[2]; /* where an affine map's two numbers are */
} Number;
/* The types; NULL after the last. The first ones are predefined, the last ones derived, for AFFINE. */
const Number* number_at(int index);
int numbers(void);
typedef enum {
    SUM,
    PROD,
    MAX,
    MIN,
    LAND,
    LOR,
    LXOR,
    BAND,
    BOR,
    BXOR,
    MAXLOC,
    MINLOC,
    USER_SUM,
    USER_FIRST,
    USER_AFFINE, /* of the program; the last two do not commute */
    OPERATIONS
} Operation;
extern const char* const operation_names[OPERATIONS];
int suits(const Number* number, Operation operation);
/* The caller frees one of the program's own (from USER_SUM on). */
MPI_Op make_operation(const Number* number, Operation operation, int large);
/* The value of an element. contribution(): of a rank's, for one key. */
typedef struct {
    long long a, b;
} Value;
Value contribution(const Number* number, Operation operation, Word key, int rank, long element);
Value combined(const Number* number, Operation operation, Value left, Value right);
void store(const Number* number, char* at, Value value);
int holds(const Number* number, const char* at, Value value);

/* --- A call ------------------------------------------------------------------------------------- */

typedef struct {
    Function function;
    Form form;
    int large; /* the form with MPI_Count */
    const Group* group;
    long size; /* units of a block, or elements */
    int root;
    int in_place;
    int absolute; /* MPI_BOTTOM and types with addresses, where that suits */
    int base, send_layout, recv_layout;
    const Number* number;
    Operation operation;
    Word key; /* decides the data; the same on all ranks */
} Spec;

typedef struct {
    int blocks;
    long units[MAX_BLOCKS], counts[MAX_BLOCKS], displs[MAX_BLOCKS], at[MAX_BLOCKS];
    long offset[MAX_BLOCKS][4], extent[MAX_BLOCKS], per[MAX_BLOCKS];
    MPI_Datatype types[MAX_BLOCKS];
    char *memory, *wanted, *origin; /* the origin is where displacement 0 is */
    long bytes;
    void* buffer; /* as the call gets it */
} Side;

typedef struct {
    Spec spec;
    Word round;
    Side send, recv;
    MPI_Datatype created[4 * MAX_BLOCKS + 4];
    int types;
    MPI_Op op;
    MPI_Request request;
    void* arrays[8]; /* of the call's arguments */
    size_t array_bytes[8];
    int arrays_count;
} Case;

/* Draws a call among all for the group; `own` differs from rank to rank. */
Spec drawn_spec(Word* shared, const Group* group, Form form);
void open_case(Case* of, Spec spec);
/* New contents, a round later. */
void fill_case(Case* of);
/* Calls the function: a blocking one has ended afterwards. Returns MPI's code. */
int call_case(Case* of);
/* Frees types before the call has completed, and what else options.forget says. */
void forget_arguments(Case* of);
void check_case(Case* of);
void close_case(Case* of);
/* Passes its description to doing(). */
void tell_case(const Case* of);
int is_left_out(const Spec* spec);
/* Opens, fills, calls, waits, checks and closes. */
void run_case(Spec spec);

/* --- Completion --------------------------------------------------------------------------------- */

enum {
    BY_WAIT,
    BY_TEST,
    BY_WAITALL,
    BY_WAITANY,
    BY_WAITSOME,
    BY_TESTALL,
    BY_TESTANY,
    BY_TESTSOME,
    BY_GET_STATUS,
#if HAS_STATUS_OF_LISTS
    BY_GET_STATUS_ALL,
    BY_GET_STATUS_ANY,
    BY_GET_STATUS_SOME,
#endif
    WAYS
};
extern const char* const way_names[WAYS];
/* Whether skip= leaves out persistent collectives by this way. */
int is_skipped_for_persistent(int way);
/* Completes all requests. Inactive persistent ones may be among them. Those of `others`, a bit for each, may not be
   collectives, whose statuses options.empty is about. */
void complete(MPI_Request* requests, int count, int way, unsigned others);
/* Returns the index of one that has completed; its request is then null or inactive. -1: none is active. */
int complete_one(MPI_Request* requests, int count, int way, unsigned others);

/* --- Sections ----------------------------------------------------------------------------------- */

typedef struct {
    const char* name;
    void (*run)(void);
    const char* says;
} Section;
extern const Section collective_sections[], reduction_sections[], completion_sections[],
    communicator_sections[], regression_sections[], error_sections[], random_sections[],
    thread_sections[], large_sections[], absent_sections[],
    predefined_sections[];

#endif
