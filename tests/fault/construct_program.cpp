// A rank dies while communicators are made, used and freed: VICTIM ENGINE MICROSECONDS FILE. So long
// after a barrier the victim notes the time in FILE and kills itself, wherever it is. Every other rank
// must learn it from a status that names the victim, within 2 seconds, also when its own part of a
// constructor had gone well, or when the victim is in none of the groups that it waits for.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/fault_program.h"

using weft::test::fail;
using weft::test::now_s;

namespace {

int file_of_death = -1;

void die(int) {
    double now = now_s();
    if (write(file_of_death, &now, sizeof now) == sizeof now) kill(getpid(), SIGKILL);
}

// Makes communicators until something fails.
weft_status make_communicators(int rank, int victim) {
    for (unsigned i = 0;; ++i) {
        weft_comm world = weft_comm_world();
        weft_comm copy = WEFT_COMM_NULL;
        weft_comm others = WEFT_COMM_NULL;
        // A graph takes three exchanges.
        const int kind = static_cast<int>(i % 3);
        const int ring = 1;
        int size = 0;
        weft_comm_size(world, &size);
        const int below = (rank + size - 1) % size;
        const int above = (rank + 1) % size;
        weft_status status = kind == 0   ? weft_comm_dup(world, &copy)
                             : kind == 1 ? weft_comm_cart(world, 1, &size, &ring, &copy)
                                         : weft_comm_graph(world, 1, &below, 1, &above, &copy);
        if (status != WEFT_OK) return status;
        int color = rank == victim ? WEFT_COLOR_NONE : 0;
        if (i % 2 == 0) status = weft_barrier(copy);
        if (status == WEFT_OK) status = weft_comm_split(copy, color, -rank, &others);
        // Every other time the parent is gone before what was made from it is used.
        if (i % 4 < 2 && status == WEFT_OK) status = weft_comm_free(&copy);
        double value = 1;
        for (int k = 0; k < 3 && status == WEFT_OK && rank != victim; ++k) {
            status = weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_FLOAT64, WEFT_SUM, others);
        }
        if (status != WEFT_OK) return status;
        if (others != WEFT_COMM_NULL) status = weft_comm_free(&others);
        if (copy != WEFT_COMM_NULL) status = weft_comm_free(&copy);
        if (status != WEFT_OK) return status;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return fail(-1, "usage: construct VICTIM ENGINE MICROSECONDS FILE");
    int victim = std::atoi(argv[1]);
    setenv("WEFT_ENGINE", argv[2], 1);
    long after_us = std::atol(argv[3]);
    file_of_death = open(argv[4], O_RDWR | O_CREAT, 0600);
    if (file_of_death < 0 || weft_init() != WEFT_OK) return fail(-1, "weft_init");
    int rank = -1;
    weft_comm_rank(weft_comm_world(), &rank);
    weft_status status = weft_barrier(weft_comm_world());
    if (rank == victim) {
        signal(SIGALRM, die);
        itimerval timer{{0, 0}, {0, after_us}};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    if (status == WEFT_OK) status = make_communicators(rank, victim);
    double told_s = now_s();
    if (status != WEFT_BROKEN_RANK) return fail(rank, "the loss ended in another status");
    if (!std::strstr(weft_last_detail(), ("rank " + std::to_string(victim) + " of").c_str())) {
        return fail(rank, "the detail does not name the victim");
    }
    double died_s = 0;
    if (pread(file_of_death, &died_s, sizeof died_s, 0) != sizeof died_s || told_s - died_s > 2) {
        return fail(rank, "the failure notice took longer than 2 s");
    }
    // Nothing can be made from what is broken; by itself the rank goes on.
    weft_comm made = WEFT_COMM_NULL;
    weft_status again = weft_comm_dup(weft_comm_world(), &made);
    if (again != WEFT_BROKEN_RANK || made != WEFT_COMM_NULL) return fail(rank, "dup of broken");
    if (weft_comm_dup(weft_comm_self(), &made) != WEFT_OK) return fail(rank, "dup of self");
    if (weft_barrier(made) != WEFT_OK) return fail(rank, "barrier on dup of self");
    if (weft_finalize() != WEFT_OK) return fail(rank, "weft_finalize");
    std::printf("rank %d was told\n", rank);
    return 0;
}
