// Rank 0 returns from main with operations pending: FILE. Its last exit handler, which runs after those
// of all libraries, makes FILE and goes on for half a second; only then do the others call it. It must
// end as if nothing were pending, and the others learn that it has died.
#include <unistd.h>
#include <weft/weft.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/fault_program.h"

using weft::test::fail;

namespace {

const char* file;

void last_handler() {
    std::ofstream(file) << "exits" << std::flush;
    usleep(500'000);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return fail(-1, "usage: exit FILE");
    file = argv[1];
    const char* number = std::getenv("WEFT_RANK");
    if (number != nullptr && std::strcmp(number, "0") == 0) std::atexit(last_handler);
    if (weft_init() != WEFT_OK) return fail(-1, "weft_init");
    weft_comm world = weft_comm_world();
    int rank = -1;
    int ranks = 0;
    weft_comm_rank(world, &rank);
    weft_comm_size(world, &ranks);
    // Over tcp this connects some pairs, and not those of the exchange that are farther apart.
    if (weft_barrier(world) != WEFT_OK) return fail(rank, "weft_barrier");
    if (rank != 0) {
        while (!std::filesystem::exists(file)) usleep(1'000);
    }

    // The operation uses them until the process has ended.
    static char sent[64];
    static char received[64];
    if (ranks > 64) return fail(rank, "too many ranks");
    weft_request request = WEFT_REQUEST_NULL;
    weft_status status = weft_ialltoall(sent, received, 1, WEFT_BYTE, world, &request);
    if (rank == 0) {
        if (status != WEFT_OK) return fail(rank, "weft_ialltoall");
        if (weft_finalize() != WEFT_REFUSED_OUTSTANDING) return fail(rank, "weft_finalize");
        return 0;
    }
    if (status == WEFT_OK) status = weft_wait(&request);
    // It may have sent its part before it left.
    if (status == WEFT_OK) status = weft_barrier(world);
    if (status != WEFT_BROKEN_RANK || !std::strstr(weft_last_detail(), "rank 0"))
        return fail(rank, "the end of rank 0 is not told");
    return weft_finalize() == WEFT_OK ? 0 : fail(rank, "weft_finalize");
}
