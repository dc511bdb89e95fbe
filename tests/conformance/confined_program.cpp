// Operations of weft_op_create_confined: their functions run only in the thread of the program that calls Weft, whether
// it waits, tests, blocks or calls weft_progress. Ends with status 1 and a sentence otherwise.
#include <unistd.h>
#include <weft/weft.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "conformance/rank_expect.h"

namespace {

const std::thread::id the_thread = std::this_thread::get_id();
int in_other_threads = 0;
int calls = 0;

void add(const void* in, void* inout, size_t count, weft_type, void*) {
    in_other_threads += std::this_thread::get_id() != the_thread;
    ++calls;
    for (size_t i = 0; i < count; ++i)
        static_cast<std::int32_t*>(inout)[i] += static_cast<const std::int32_t*>(in)[i];
}

weft_status by_wait(weft_request& request) { return weft_wait(&request); }

weft_status by_test(weft_request& request) {
    weft_status status;
    while ((status = weft_test(&request)) == WEFT_PENDING) std::this_thread::yield();
    return status;
}

weft_status by_progress(weft_request& request) {
    while (weft_progress() == WEFT_PENDING) std::this_thread::yield();
    return weft_test(&request);
}

// Others wait in their sleep for what this rank combines.
weft_status late(weft_request& request) {
    usleep(3000);
    return weft_wait(&request);
}

constexpr weft_status (*ways[])(weft_request&) = {by_wait, by_test, by_progress, late};

}  // namespace

int main() {
    weft_op op = WEFT_OP_NULL;
    EXPECT(weft_progress() == WEFT_REFUSED_STATE);
    EXPECT(weft_op_create_confined(nullptr, 1, nullptr, &op) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_op_create_confined(add, 1, nullptr, nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_op_create_confined(add, 1, nullptr, &op) == WEFT_OK);
    weft_comm const world = join_job();
    const int rank = world_rank, ranks = world_size;
    for (int round = 0; round < 60; ++round) {
        const size_t count = round % 3 == 2 ? 40'000 : static_cast<size_t>(1 + round);
        std::vector<std::int32_t> own(count, rank + round), both(count, 1);
        weft_request request = WEFT_REQUEST_NULL, other = WEFT_REQUEST_NULL;
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, own.data(), count, WEFT_INT32, op, world, &request) ==
               WEFT_OK);
        // One that Weft's own thread may advance.
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, both.data(), count, WEFT_INT32, WEFT_SUM, world,
                               &other) == WEFT_OK);
        EXPECT(ways[(round + rank) % 4](request) == WEFT_OK);
        EXPECT(request == WEFT_REQUEST_NULL);
        EXPECT(weft_wait(&other) == WEFT_OK);
        const std::int32_t sum = ranks * (ranks - 1) / 2 + ranks * round;
        for (std::int32_t value : own) EXPECT(value == sum);
        for (std::int32_t value : both) EXPECT(value == ranks);
        EXPECT(weft_allreduce(WEFT_IN_PLACE, both.data(), count, WEFT_INT32, op, world) == WEFT_OK);
        for (std::int32_t value : both) EXPECT(value == ranks * ranks);
    }
    EXPECT(in_other_threads == 0);
    EXPECT(calls > 0 || ranks == 1);
    EXPECT(weft_barrier(world) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
    EXPECT(weft_op_free(&op) == WEFT_OK);
    return 0;
}
