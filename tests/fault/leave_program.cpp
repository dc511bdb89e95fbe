// All ranks but 0 send it a message and leave the job in good order. Its receives from any source
// get these messages; one more fails, as one that names a rank that has left does.
#include <weft/weft.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "conformance/rank_expect.h"

int main() {
    const weft_comm world = join_job();
    weft_comm other = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(world, &other) == WEFT_OK);
    weft_request request = WEFT_REQUEST_NULL;
    if (world_rank != 0) {
        EXPECT(weft_isend(&world_rank, 1, WEFT_INT32, 0, 0, world, &request) == WEFT_OK);
        EXPECT(weft_wait(&request) == WEFT_OK);
        EXPECT(weft_finalize() == WEFT_OK);
        return 0;
    }
    std::vector<bool> has_come(static_cast<std::size_t>(world_size));
    int from = -1;
    int source = -1;
    for (int i = 1; i < world_size; ++i) {
        EXPECT(weft_irecv_any(&from, 1, WEFT_INT32, 0, &source, world, &request) == WEFT_OK);
        EXPECT(weft_wait(&request) == WEFT_OK);
        EXPECT(from == source && from > 0 && from < world_size);
        EXPECT(!has_come[static_cast<std::size_t>(from)]);
        has_come[static_cast<std::size_t>(from)] = true;
    }
    EXPECT(weft_irecv_any(&from, 1, WEFT_INT32, 0, &source, world, &request) == WEFT_OK);
    EXPECT(weft_wait(&request) == WEFT_BROKEN_RANK);
    EXPECT(std::strstr(weft_last_detail(), "receive from any rank with tag 0 on world: rank "));
    EXPECT(std::strstr(weft_last_detail(), " of the job died or left"));
    const weft_status started = weft_irecv(&from, 1, WEFT_INT32, 1, 0, other, &request);
    EXPECT(started == WEFT_BROKEN_RANK ||
           (started == WEFT_OK && weft_wait(&request) == WEFT_BROKEN_RANK));
    EXPECT(std::strstr(weft_last_detail(), "receive from rank 1 with tag 0 on "));
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
