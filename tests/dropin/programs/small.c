/* Small MPI programs, chosen by the first argument. Plain MPI: nothing here knows of Weft. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Only messages: what the process has meanwhile. */
static void messages(void) {
    long switches;
    int threads, descriptors;
    exchange_messages(); /* what the MPI opens when it is first needed */
    threads = entries("/proc/self/task");
    descriptors = entries("/proc/self/fd");
    switches = switches_of_others();
    exchange_messages();
    printf("rank %d: threads %d descriptors %d more threads %d more descriptors %d\n", rank,
           threads, descriptors, entries("/proc/self/task") - threads,
           entries("/proc/self/fd") - descriptors);
    printf("rank %d: switches %ld\n", rank, switches_of_others() - switches);
}

/* A collective operation that is right. */
static void reduce(void) {
    int in = rank + 1, out = 0;
    MPI_Request request;
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (out != ranks * (ranks + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 4);
    if (rank == 0) printf("right\n");
}

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

static void aborts(void) {
    MPI_Request request;
    reduce();
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    alarm(40);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "messages")) messages();
    if (!strcmp(what, "reduce")) reduce();
    if (!strcmp(what, "forks")) forks();
    if (!strcmp(what, "killed")) killed();
    if (!strcmp(what, "aborts")) aborts();
    MPI_Finalize();
    return 0;
}
