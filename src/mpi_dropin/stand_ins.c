// Stands in for functions that the MPI of this process lacks. The preloaded library exports what
// some MPI has, and programs ask by weak symbols or dlsym what is there, so every exported function
// can be called on every MPI.
//
// A large-count form calls the plain form with its counts as int, or gives MPI_ERR_COUNT where they
// do not fit. What cannot be served gives MPI_ERR_UNSUPPORTED_OPERATION. Stand-ins are here, not in
// the parts, because an MPI may have no part.
//
// Handles pass through as the registers that hold them, though they are int in some MPIs and
// pointers in others.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

#define BARE(...) __VA_ARGS__

typedef struct any_comm* MPI_Comm;
typedef struct any_datatype* MPI_Datatype;
typedef struct any_info* MPI_Info;
typedef struct any_op* MPI_Op;
typedef struct any_request* MPI_Request;
typedef long MPI_Aint;  // not converted: large counts and displacements are long long here

enum { mpi_success = 0, mpi_err_count = 2, mpi_undefined = -32766, mpi_dist_graph = 3 };

static const struct values* mpi;

// --- Calling the MPI -----------------------------------------------------------------------------

// Through the wrapper, if the function is wrapped.
static void* function_of(struct slot* slot) {
    void* const target = __atomic_load_n(&slot->target, __ATOMIC_ACQUIRE);
    return target ? target : weft_bind_slot(slot);
}

#define UNDERNEATH(name, parameters, arguments)                  \
    static int name parameters {                                 \
        static struct slot slot = {NULL, "MPI_" #name};          \
        return ((int(*) parameters)function_of(&slot))arguments; \
    }
UNDERNEATH(Cartdim_get, (MPI_Comm comm, int* number), (comm, number))
UNDERNEATH(Comm_call_errhandler, (MPI_Comm comm, int error), (comm, error))
UNDERNEATH(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request), (comm, made, request))
UNDERNEATH(Comm_rank, (MPI_Comm comm, int* rank), (comm, rank))
UNDERNEATH(Comm_remote_size, (MPI_Comm comm, int* ranks), (comm, ranks))
UNDERNEATH(Comm_size, (MPI_Comm comm, int* ranks), (comm, ranks))
UNDERNEATH(Comm_test_inter, (MPI_Comm comm, int* is_inter), (comm, is_inter))
UNDERNEATH(Dist_graph_neighbors_count, (MPI_Comm comm, int* in, int* out, int* is_weighted),
           (comm, in, out, is_weighted))
UNDERNEATH(Graph_neighbors_count, (MPI_Comm comm, int rank, int* number), (comm, rank, number))
UNDERNEATH(Request_get_status, (MPI_Request request, int* flag, void* status),
           (request, flag, status))
UNDERNEATH(Topo_test, (MPI_Comm comm, int* topology), (comm, topology))

static int raise_error(MPI_Comm comm, int error) {
    Comm_call_errhandler(comm, error);
    return error;
}

// --- Arrays that an operation may read until it has completed ------------------------------------

struct array {
    struct array* next;
    int numbers[];
};

static void free_arrays(struct array* arrays) {
    while (arrays) {
        struct array* const next = arrays->next;
        free(arrays);
        arrays = next;
    }
}

// The arrays of an operation, by the value of its request. When the MPI gives that value to another
// operation, the first has completed: its arrays are freed then.
struct kept {
    struct kept* next;
    uintptr_t request;
    struct array* arrays;
};

static uintptr_t value_of(const void* request) {
    uintptr_t value = 0;
    memcpy(&value, request, mpi->request_bytes);
    return value;
}

// Without memory for the entry, the arrays are never freed.
static void keep_arrays(struct array* arrays, const MPI_Request* request) {
    static struct kept* all[1024];
    static int turn;
    const uintptr_t value = value_of(request);
    struct kept** const list = &all[value / 4 * 2654435761u % 1024];
    struct array* old = NULL;
    struct kept* kept;
    while (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQUIRE)) sched_yield();
    for (kept = *list; kept && kept->request != value;) kept = kept->next;
    if (kept) {
        old = kept->arrays;
        kept->arrays = arrays;
    } else if ((kept = malloc(sizeof *kept))) {
        *kept = (struct kept){*list, value, arrays};
        *list = kept;
    }
    __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
    free_arrays(old);
}

// --- Large counts as int -------------------------------------------------------------------------

// A call whose arguments are converted. What this rank does not use of them is not looked at.
struct conversion {
    const char* name;  // "Gatherv"
    MPI_Comm comm;
    const void *send, *recv;  // the buffers
    const int* root;          // null: the collective has none
    int uses_send, uses_recv, uses_count;
    int sends, receives;  // lengths of the arrays
    struct array* arrays;
    int error;
};

static void see_nothing(struct conversion* call, ...) { (void)call; }
static void see_send(struct conversion* call, const void* send) { call->send = send; }
static void see_recv(struct conversion* call, void* recv) { call->recv = recv; }

static int begins(const struct conversion* call, const char* with) {
    return strncmp(call->name, with, strlen(with)) == 0;
}

static int count_neighbors(struct conversion* call) {
    int topology = mpi_undefined, rank, is_weighted;
    int error = Topo_test(call->comm, &topology);
    if (error) return error;
    if (topology == mpi->cart) {
        error = Cartdim_get(call->comm, &call->sends);
        call->sends *= 2;
        call->receives = call->sends;
    } else if (topology == mpi->graph) {
        error = Comm_rank(call->comm, &rank);
        if (!error) error = Graph_neighbors_count(call->comm, rank, &call->sends);
        call->receives = call->sends;
    } else if (topology == mpi_dist_graph) {
        error = Dist_graph_neighbors_count(call->comm, &call->receives, &call->sends, &is_weighted);
    }
    return error;
}

// Which arguments count, and how long the arrays are.
static int look_at_call(struct conversion* call) {
    const int gathers = begins(call, "Gather"), scatters = begins(call, "Scatter");
    int is_inter, ranks, rank, is_root, error;
    call->uses_send = call->send != mpi->in_place;
    call->uses_recv = call->recv != mpi->in_place;
    call->uses_count = 1;
    if (begins(call, "Neighbor")) return count_neighbors(call);
    if ((error = Comm_test_inter(call->comm, &is_inter))) return error;
    error = is_inter && strcmp(call->name, "Reduce_scatter") != 0
                ? Comm_remote_size(call->comm, &ranks)
                : Comm_size(call->comm, &ranks);
    if (!error) error = Comm_rank(call->comm, &rank);
    if (error) return error;
    call->sends = call->receives = ranks;
    if (!call->root) return mpi_success;
    is_root = *call->root == (is_inter ? mpi->root : rank);
    if (gathers && !is_root) call->uses_recv = 0;
    if (scatters && !is_root) call->uses_send = 0;
    if (is_inter && gathers && *call->root < 0) call->uses_send = 0;
    if (is_inter && scatters && *call->root < 0) call->uses_recv = 0;
    if (is_inter && *call->root < 0 && !is_root) call->uses_count = 0;  // MPI_PROC_NULL
    return mpi_success;
}

// `name` is as in collectives.def: "send_counts", "recv_displs", "displs", "count".
static int sends_by(const struct conversion* call, const char* name) {
    return name[0] == 's' || (name[0] == 'd' && begins(call, "Scatter"));
}

static int uses(const struct conversion* call, const char* name) {
    if (strcmp(name, "count") == 0) return call->uses_count;
    return sends_by(call, name) ? call->uses_send : call->uses_recv;
}

static int convert(struct conversion* call, long long count) {
    if (count != (int)count) call->error = mpi_err_count;
    return (int)count;
}

static int convert_count(struct conversion* call, long long count, const char* name) {
    return !call->error && uses(call, name) ? convert(call, count) : 0;
}

static const int* convert_counts(struct conversion* call, const long long* counts,
                                 const char* name) {
    const int number = sends_by(call, name) ? call->sends : call->receives;
    struct array* array;
    int i;
    if (call->error || !counts || !uses(call, name)) return NULL;
    array = malloc(sizeof *array + (size_t)number * sizeof *array->numbers);
    if (!array) {
        call->error = mpi->no_memory;
        return NULL;
    }
    array->next = call->arrays;
    call->arrays = array;
    for (i = 0; i < number; ++i) array->numbers[i] = convert(call, counts[i]);
    return array->numbers;
}

// `request`: of an operation that has begun; null: the call was blocking.
static int end_call(struct conversion* call, int error, const MPI_Request* request) {
    if (request && !error && call->arrays) {
        keep_arrays(call->arrays, request);
    } else {
        free_arrays(call->arrays);
    }
    return error;
}

// DO(x) for each x of a list in parentheses.
#define EACH(DO, list) EACH_OF(DO, BARE list)
#define EACH_OF(DO, ...)                                                              \
    PICK(__VA_ARGS__, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1) \
    (DO, __VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, picked, ...) picked
#define EACH_1(DO, a) DO(a)
#define EACH_2(DO, a, ...) DO(a) EACH_1(DO, __VA_ARGS__)
#define EACH_3(DO, a, ...) DO(a) EACH_2(DO, __VA_ARGS__)
#define EACH_4(DO, a, ...) DO(a) EACH_3(DO, __VA_ARGS__)
#define EACH_5(DO, a, ...) DO(a) EACH_4(DO, __VA_ARGS__)
#define EACH_6(DO, a, ...) DO(a) EACH_5(DO, __VA_ARGS__)
#define EACH_7(DO, a, ...) DO(a) EACH_6(DO, __VA_ARGS__)
#define EACH_8(DO, a, ...) DO(a) EACH_7(DO, __VA_ARGS__)

// The only int besides counts is the root.
#define SEE(x)                                                                                \
    _Generic((x), const void* : see_send, void* : see_recv, default : see_nothing)(&call, x); \
    if (_Generic((x), int : 1, default : 0)) call.root = (const int*)&(x);
#define CONVERT(x) \
    __auto_type plain_##x = _Generic(                                                       \
        (x),                                                                                \
        long long: convert_count(&call, _Generic((x), long long: (x), default: 0), #x),     \
        const long long*: convert_counts(                                                   \
            &call, _Generic((x), const long long*: (x), default: (const long long*)0), #x), \
        default: (x));
#define PASS(x) plain_##x,

#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_)
#define COLLECTIVE(Name, name, parameters, arguments, call_)                           \
    typedef int plain_I##name(BARE parameters MPI_Comm, MPI_Request*);                 \
    typedef int plain_##Name##_init(BARE parameters MPI_Comm, MPI_Info, MPI_Request*); \
    typedef int plain_##Name(BARE parameters MPI_Comm);
#define COUNT int
#define DISPL int
#include "collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

#define CONVERTED(full_name, Name, arguments, more, request_)                                  \
    static struct slot slot = {NULL, "MPI_" #full_name};                                       \
    struct conversion call = {.name = #Name, .comm = comm};                                    \
    EACH(SEE, arguments)                                                                       \
    call.error = look_at_call(&call);                                                          \
    if (call.error) return call.error;                                                         \
    EACH(CONVERT, arguments)                                                                   \
    if (call.error) return end_call(&call, raise_error(comm, call.error), NULL);               \
    return end_call(&call,                                                                     \
                    ((plain_##full_name*)function_of(&slot))(EACH(PASS, arguments) BARE more), \
                    request_);

#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_)
#define COLLECTIVE(Name, name, parameters, arguments, call_)                                       \
    static int I##name##_c(BARE parameters MPI_Comm comm, MPI_Request* request) {                  \
        CONVERTED(I##name, Name, arguments, (comm, request), request)                              \
    }                                                                                              \
    static int Name##_init_c(BARE parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
        CONVERTED(Name##_init, Name, arguments, (comm, info, request), request)                    \
    }                                                                                              \
    static int Name##_c(BARE parameters MPI_Comm comm) {                                           \
        CONVERTED(Name, Name, arguments, (comm), NULL)                                             \
    }
#define COUNT long long
#define DISPL long long
#include "collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

// --- Functions of MPI-4 --------------------------------------------------------------------------

// A program may have a copy of the variable, which then is the one.
static MPI_Request null_request(void) {
    void* variable;
    if (!mpi->null_request_name) return (MPI_Request)mpi->null_request;
    variable = dlsym(RTLD_DEFAULT, mpi->null_request_name);
    return variable ? variable : weft_find_underneath(mpi->null_request_name);
}

static MPI_Request request_at(const void* requests, int i) {
    return (MPI_Request)value_of((const char*)requests + (size_t)i * mpi->request_bytes);
}

static void* status_at(void* statuses, int i) {
    if (statuses == mpi->status_ignore) return statuses;
    return (char*)statuses + (size_t)i * mpi->status_bytes;
}

static int Request_get_status_all(int count, const void* requests, int* flag, void* statuses) {
    int i, error = mpi_success;
    *flag = 1;
    for (i = 0; i < count && *flag && !error; ++i)
        error = Request_get_status(request_at(requests, i), flag, status_at(statuses, i));
    return error;
}

// Here and below an inactive persistent request counts as complete: nothing tells the two apart.
// MPICH's own: only tells.
static int Request_is_complete(MPI_Request request) {
    int flag = 0;
    return !Request_get_status(request, &flag, mpi->status_ignore) && flag;
}

static int Request_get_status_any(int count, const void* requests, int* index, int* flag,
                                  void* status) {
    const MPI_Request none = null_request();
    int i, error, is_any_active = 0;
    for (i = 0; i < count; ++i) {
        const MPI_Request request = request_at(requests, i);
        if (request == none) continue;
        error = Request_get_status(request, flag, status);
        *index = i;
        if (error || *flag) return error;
        is_any_active = 1;
    }
    *index = mpi_undefined;
    if (is_any_active) return mpi_success;
    // An empty status has no error; the MPI's function leaves that field alone.
    if (status != mpi->status_ignore) memset((char*)status + mpi->status_error, 0, sizeof(int));
    return Request_get_status(none, flag, status);
}

static int Request_get_status_some(int count, const void* requests, int* completed, int* indices,
                                   void* statuses) {
    const MPI_Request none = null_request();
    int i, flag, error, number = mpi_undefined;
    for (i = 0; i < count; ++i) {
        const MPI_Request request = request_at(requests, i);
        if (request == none) continue;
        if (number == mpi_undefined) number = 0;
        error = Request_get_status(request, &flag, status_at(statuses, number));
        if (error) return error;
        if (flag) indices[number++] = i;
    }
    *completed = number;
    return mpi_success;
}

// Hints may be ignored.
static int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
    (void)info;
    return Comm_idup(comm, made, request);
}

// --- What cannot be served -----------------------------------------------------------------------

static int unsupported(void) { return mpi ? mpi->unsupported : 16; }

#define IGNORE(x) (void)(x);
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_)      \
    static int Name##_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
        (void)info, (void)request;                                               \
        return raise_error(comm, mpi->unsupported);                              \
    }
#define COLLECTIVE(Name, name, parameters, arguments, call_)                                     \
    static int Name##_init(BARE parameters MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
        EACH(IGNORE, arguments)(void) info, (void)request;                                       \
        return raise_error(comm, mpi->unsupported);                                              \
    }
#define COUNT int
#define DISPL int
#include "collectives.def"
#undef COLLECTIVE
#undef COUNT
#undef DISPL

struct stand_in {
    const char* name;
    void* function;
};

#define STAND_IN(name) \
    { "MPI_" #name, (void*)name }

static const struct stand_in serving[] = {
#define COLLECTIVE_WITHOUT_COUNTS(Name, name, parameters, arguments, call_)
#define COLLECTIVE(Name, name, parameters, arguments, call_) \
    STAND_IN(I##name##_c), STAND_IN(Name##_init_c), STAND_IN(Name##_c),
#include "collectives.def"
#undef COLLECTIVE
    STAND_IN(Request_get_status_all),
    STAND_IN(Request_get_status_any),
    STAND_IN(Request_get_status_some),
    STAND_IN(Comm_idup_with_info),
    {"MPIX_Request_is_complete", (void*)Request_is_complete},
};

static const struct stand_in refusing[] = {
#define COLLECTIVE(Name, name, parameters, arguments, call_) STAND_IN(Name##_init),
#include "collectives.def"
#undef COLLECTIVE
    {"MPI_Session_init", (void*)unsupported},
    {"MPI_Session_finalize", (void*)unsupported},
};

static void* find_in(const struct stand_in* first, size_t number, const char* name) {
    for (; number > 0; ++first, --number) {
        if (strcmp(first->name, name) == 0) return first->function;
    }
    return NULL;
}

void* weft_find_stand_in(const char* name, const struct values* values) {
    void* const serves = find_in(serving, sizeof serving / sizeof *serving, name);
    void* const refuses = find_in(refusing, sizeof refusing / sizeof *refusing, name);
    char early[64];
    void* function;
    if (!serves && !refuses) return NULL;
    if (values) {
        __atomic_store_n(&mpi, values, __ATOMIC_RELEASE);
        if (serves) return serves;
        snprintf(early, sizeof early, "%s%s",
                 values->persistent_prefix ? values->persistent_prefix : "", name + 4);
        if (values->persistent_prefix && (function = weft_find_underneath(early))) return function;
    }
    fprintf(stderr, "weft: the MPI of this process does not have %s: its calls give an error\n",
            name);
    return values ? refuses : (void*)unsupported;
}
