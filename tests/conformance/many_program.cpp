// So many small operations on one communicator that what counts messages passes its largest number:
// COUNT. Two ranks. Ends with status 1 and a sentence when a result is wrong.
#include <weft/weft.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "conformance/rank_expect.h"

int main(int argc, char** argv) {
    const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 0;
    EXPECT(count > 0);
    weft_comm const world = join_job();
    EXPECT(world_size == 2);
    constexpr std::int64_t several = 64;  // at a time; some are waited for one by one
    std::int64_t values[several], sums[several];
    weft_request requests[several] = {};
    for (std::int64_t done = 0; done < count;) {
        const std::int64_t now = done / several % 64 == 0 ? 1 : std::min(several, count - done);
        for (std::int64_t i = 0; i < now; ++i) {
            values[i] = (done + i) * 3 + world_rank;
            EXPECT(weft_iallreduce(&values[i], &sums[i], 1, WEFT_INT64, WEFT_SUM, world,
                                   &requests[i]) == WEFT_OK);
        }
        EXPECT(weft_waitall(static_cast<size_t>(now), requests, nullptr) == WEFT_OK);
        for (std::int64_t i = 0; i < now; ++i) EXPECT(sums[i] == (done + i) * 6 + 1);
        done += now;
    }
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
