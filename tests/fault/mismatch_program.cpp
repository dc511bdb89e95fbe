// Ranks that do not agree on a call's size: COUNT0 COUNT1, rank 1 uses the second. Every rank must
// learn it from a status, at the latest from the next operation; nobody may hang.
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 3 || weft_init() != WEFT_OK)
        return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    weft_comm world = weft_comm_world();
    int rank = -1;
    weft_comm_rank(world, &rank);
    std::size_t count = std::strtoull(argv[rank == 1 ? 2 : 1], nullptr, 10);
    std::vector<float> values(count + 1, 1);
    weft_status status =
        weft_allreduce(WEFT_IN_PLACE, values.data(), count, WEFT_FLOAT32, WEFT_SUM, world);
    if (status == WEFT_OK) status = weft_barrier(world);
    std::printf("rank %d: %s, %s\n", rank, weft_status_name(status), weft_last_detail());
    bool named =
        std::strstr(weft_last_detail(), "rank ") && std::strstr(weft_last_detail(), "bytes where");
    if (status != WEFT_BROKEN_MESSAGE || !named || values[count] != 1) return 1;
    return weft_barrier(world) == WEFT_BROKEN_MESSAGE && weft_finalize() == WEFT_OK ? 0 : 1;
}
