// Ranks that do not agree on a call's size: COUNT0 COUNT1, rank 1 uses the second. Every rank must
// learn it from a status, at the latest from the next operation; nobody may hang. Also in fibers.
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "conformance/in_fibers.h"

int main(int argc, char** argv) {
    if (argc != 3 || weft_init() != WEFT_OK)
        return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    EXPECT(weft_comm_rank(weft_comm_world(), &world_rank) == WEFT_OK);
    const std::size_t count = std::strtoull(argv[world_rank == 1 ? 2 : 1], nullptr, 10);
    run_here_or_in_fibers([count](weft_comm comm) {
        // A rank that is still making the communicator would learn it there.
        const weft_comm world = weft_comm_world();
        if (comm != world) EXPECT(weft_barrier(world) == WEFT_OK);
        std::vector<float> values(count + 1, 1);
        weft_status status =
            weft_allreduce(WEFT_IN_PLACE, values.data(), count, WEFT_FLOAT32, WEFT_SUM, comm);
        if (status == WEFT_OK) status = weft_barrier(comm);
        std::printf("rank %d: %s, %s\n", world_rank, weft_status_name(status), weft_last_detail());
        EXPECT(status == WEFT_BROKEN_MESSAGE);
        EXPECT(std::strstr(weft_last_detail(), "rank "));
        EXPECT(std::strstr(weft_last_detail(), "bytes where"));
        EXPECT(values[count] == 1);
        EXPECT(weft_barrier(comm) == WEFT_BROKEN_MESSAGE);
    });
    return weft_finalize() == WEFT_OK ? 0 : 1;
}
