/* An MPI of few functions, which print their arguments; and the part of Weft that would be beside the library. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#if defined(IS_PART)
static int Ibcast(void* a, int b, void* c, int d, void* e, void* f) {
    printf("part %d %d %d %d %d %d\n", *(int*)a, b, *(int*)c, d, *(int*)e, *(int*)f);
    return 3;
}
int weft_mpi_part_start(void* mpi) { return mpi == 0; }
void* weft_mpi_part_find(const char* name) {
    return strcmp(name, "MPI_Ibcast") == 0 ? (void*)Ibcast : 0;
}
#elif defined(IS_MPI)
int PMPI_Ibcast(void* a, int b, void* c, int d, void* e, void* f) {
    printf("mpi %d %d %d %d %d %d\n", *(int*)a, b, *(int*)c, d, *(int*)e, *(int*)f);
    return 2;
}
int PMPI_Ialltoallw(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int i, int* j) {
    printf("mpi %d %d %d %d %d %d %d %d %d %d\n", *a, *b, *c, *d, *e, *f, *g, *h, i, *j);
    return 4;
}
int PMPI_Comm_size(int comm, int* ranks) {
    *ranks = 2;
    return comm != 9;
}
int PMPI_Comm_rank(int comm, int* rank) {
    *rank = 0;
    return comm != 9;
}
int PMPI_Comm_test_inter(int comm, int* is_inter) {
    *is_inter = 0;
    return comm != 9;
}
int PMPI_Comm_call_errhandler(int comm, int error) {
    printf("error %d of %d\n", error, comm);
    return 0;
}
int MPI_Ibcast(void* a, int b, void* c, int d, void* e, void* f) {
    return PMPI_Ibcast(a, b, c, d, e, f);
}
int MPI_Ialltoallw(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int i, int* j) {
    return PMPI_Ialltoallw(a, b, c, d, e, f, g, h, i, j);
}
#elif defined(LARGE)
/* Finds a function that its MPI lacks: counts as they are, then one too large. */
#include <dlfcn.h>
int main(void) {
    int n[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    long long b[] = {2, 0}, c[] = {3, 0}, f[] = {6, 0}, g[] = {7, 0};
    int (*alltoallw)(int*, long long*, long long*, int*, int*, long long*, long long*, int*, int,
                     int*);
    *(void**)&alltoallw = dlsym(RTLD_DEFAULT, "MPI_Ialltoallw_c");
    if (!alltoallw || dlsym(RTLD_DEFAULT, "MPI_Barrier_c")) return 1;
    printf("returned %d\n", alltoallw(&n[0], b, c, &n[3], &n[4], f, g, &n[7], 9, &n[9]));
    g[1] = 1LL << 31;
    printf("returned %d\n", alltoallw(&n[0], b, c, &n[3], &n[4], f, g, &n[7], 9, &n[9]));
    return 0;
}
#elif defined(OPENS_MPI)
/* Opens its MPI only when it runs: argv[1], with "local" or "global" names; and finds a function among all. */
#include <dlfcn.h>
int main(int argc, char** argv) {
    int n[] = {1, 2, 3, 4, 5, 6};
    int (*bcast)(void*, int, void*, int, void*, void*);
    const int names = argc > 2 && strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL;
    if (argc < 3 || !dlopen(argv[1], RTLD_NOW | names)) return 1;
    *(void**)&bcast = dlsym(RTLD_DEFAULT, "MPI_Ibcast");
    if (!bcast) return 2;
    printf("returned %d\n", bcast(&n[0], 2, &n[2], 4, &n[4], &n[5]));
    return 0;
}
#else
int MPI_Ibcast(void* a, int b, void* c, int d, void* e, void* f);
int MPI_Ialltoallw(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int i, int* j);
int main(void) {
    int n[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, i, got = 0;
    for (i = 0; i < 2; ++i) {
        got = 10 * got + MPI_Ibcast(&n[0], 2, &n[2], 4, &n[4], &n[5]);
        got = 10 * got +
              MPI_Ialltoallw(&n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], 9, &n[9]);
    }
    printf("returned %d\n", got);
    return 0;
}
#endif
