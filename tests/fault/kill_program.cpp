// A rank dies in the middle of collectives: VICTIM ENGINE SEED FILE. The victim notes the time in
// FILE and kills itself; every other rank must learn it from a status that names the victim, within
// 2 seconds.
#include <signal.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/fault_program.h"

using weft::test::fail;
using weft::test::now_s;

int main(int argc, char** argv) {
    if (argc != 5) return fail(-1, "usage: kill VICTIM ENGINE SEED FILE");
    int victim = std::atoi(argv[1]);
    bool only_tests = std::strcmp(argv[2], "tests") == 0;  // engine manual, and never a wait
    unsigned seed = static_cast<unsigned>(std::atoi(argv[3]));
    if (weft_init() != WEFT_OK) return fail(-1, "weft_init");
    weft_comm world = weft_comm_world();
    int rank = -1;
    int ranks = 0;
    weft_comm_rank(world, &rank);
    weft_comm_size(world, &ranks);

    const std::size_t counts[] = {1, 1000, 30000, 300000};
    std::vector<std::vector<double>> buffers(3, std::vector<double>(300000 * 8));
    weft_request requests[3] = {};
    unsigned dies_at = 3 + seed % 20;
    weft_status status = WEFT_OK;
    for (unsigned i = 0; i < 200 && status == WEFT_OK; ++i) {
        std::size_t count = counts[(seed + i) % 4];
        unsigned at = i % 3;
        while (only_tests && (status = weft_test(&requests[at])) == WEFT_PENDING) usleep(5000);
        if (!only_tests) status = weft_wait(&requests[at]);
        if (status != WEFT_OK) break;
        if (i % 3 == 0) {
            status = weft_iallreduce(WEFT_IN_PLACE, buffers[at].data(), count, WEFT_FLOAT64,
                                     WEFT_SUM, world, &requests[at]);
        } else if (i % 3 == 1) {
            status = weft_ibcast(buffers[at].data(), count, WEFT_FLOAT64,
                                 static_cast<int>(i) % ranks, world, &requests[at]);
        } else {
            status = weft_iallgather(WEFT_IN_PLACE, buffers[at].data(), count, WEFT_FLOAT64, world,
                                     &requests[at]);
        }
        if (rank == victim && i == dies_at) {
            usleep(seed * 7919 % 3000);
            std::ofstream(argv[4]) << std::to_string(now_s()) << std::flush;
            kill(getpid(), SIGKILL);
        }
    }
    double told_s = now_s();
    if (status != WEFT_BROKEN_RANK) return fail(rank, "the loss ended in another status");
    if (!std::strstr(weft_last_detail(), ("rank " + std::to_string(victim)).c_str())) {
        return fail(rank, "the detail does not name the victim");
    }
    std::ifstream file(argv[4]);
    double died_s = 0;
    if (!(file >> died_s) || told_s - died_s > 2)
        return fail(rank, "the failure notice took longer than 2 s");

    // Nothing is left pending, nothing can be started, and the rest of the library still works.
    for (weft_request& request : requests) {
        weft_status other = weft_wait(&request);  // it may have completed before
        if (other != WEFT_OK && other != WEFT_BROKEN_RANK) return fail(rank, "another request");
    }
    if (weft_barrier(world) != WEFT_BROKEN_RANK) return fail(rank, "a broken communicator started");
    if (weft_finalize() != WEFT_OK) return fail(rank, "weft_finalize");
    std::printf("rank %d was told\n", rank);
    return 0;
}
