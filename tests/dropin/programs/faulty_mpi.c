/* A library between a program and its MPI, some of whose functions fail on rank 1: those that FAULTY_MPI names. Weft
   takes it for the MPI, because its name begins like the MPI's and it is loaded first; other functions it does not
   have, and they are found in the MPI, on which it depends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int fails(const char* name) {
    const char *rank = getenv("PMI_RANK"), *const names = getenv("FAULTY_MPI");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank && !strcmp(rank, "1") && names && !strcmp(names, name);
}

static int find_next(void* function, const char* name) {
    *(void**)function = dlsym(RTLD_NEXT, name);
    return *(void**)function != NULL;
}

/* The MPI has begun, and nobody gets another descriptor. */
int PMPI_Init(int* argc, char*** argv) {
    int error, (*next)(int*, char***);
    struct rlimit limit;
    if (!find_next(&next, "PMPI_Init")) return MPI_ERR_INTERN;
    error = next(argc, argv);
    if (fails("descriptors") && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = 3;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return error;
}

int PMPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int bytes, int* position,
              MPI_Comm comm) {
    int (*next)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
    if (count == 77 && fails("pack")) return MPI_ERR_OTHER;
    if (!find_next(&next, "PMPI_Pack")) return MPI_ERR_INTERN;
    return next(in, count, type, out, bytes, position, comm);
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* del,
                            int* keyval, void* extra) {
    int (*next)(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*, void*);
    if (fails("keyval")) return MPI_ERR_OTHER;
    if (!find_next(&next, "PMPI_Comm_create_keyval")) return MPI_ERR_INTERN;
    return next(copy, del, keyval, extra);
}

/* The first time that one of these sizes is wanted, there is no memory: for the operations of a list of 1,001 requests,
   a copy of a buffer with gaps, what a reduction receives, and a graph's 1,009 neighbors. */
extern void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes) {
    static const size_t sizes[] = {1001 * sizeof(void*), 3001, 5056, 1009 * sizeof(int)};
    static int failed[4];
    int i;
    for (i = 0; i < 4; ++i) {
        if (bytes != sizes[i] || failed[i] || !fails("memory")) continue;
        failed[i] = 1;
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

/* The MPI itself has no memory for the first start, and for the fourth. */
int PMPI_Start(MPI_Request* request) {
    static int starts;
    int (*next)(MPI_Request*);
    if (fails("memory") && starts++ % 3 == 0 && starts <= 4) return MPI_ERR_NO_MEM;
    if (!find_next(&next, "PMPI_Start")) return MPI_ERR_INTERN;
    return next(request);
}

/* Progress hooks. */
#if defined(OPEN_MPI)
int opal_progress_register(int (*function)(void));
int opal_progress_register(int (*function)(void)) {
    int (*next)(int (*)(void));
    Dl_info of;
    /* The MPI registers its own, too. */
    const int is_weft = dladdr(*(void**)&function, &of) && strstr(of.dli_fname, "weft_mpi") != NULL;
    if ((is_weft && fails("hook")) || !find_next(&next, "opal_progress_register")) return 1;
    return next(function);
}
#elif defined(MPIX_STREAM_NULL)
int PMPIX_Async_start(MPIX_Async_poll_function* function, void* state, MPIX_Stream stream) {
    int (*next)(MPIX_Async_poll_function*, void*, MPIX_Stream);
    if (fails("hook") || !find_next(&next, "PMPIX_Async_start")) return MPI_ERR_OTHER;
    return next(function, state, stream);
}
#endif
