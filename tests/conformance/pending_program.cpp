// What holds while operations are pending, on two ranks: finalize is refused and lists them, a
// signal handler can end a wait, an error leaves the request alone. Ends with status 1 and a
// sentence otherwise.
#include <signal.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstring>

#include "conformance/rank_expect.h"

namespace {

bool detail_has(const char* text) { return std::strstr(weft_last_detail(), text) != nullptr; }

// When the only operation that is pending has ended.
weft_status finalize_after_its_end() {
    weft_status status;
    do {
        status = weft_finalize();
    } while (status == WEFT_REFUSED_OUTSTANDING && detail_has("1 operations are pending"));
    return status;
}

}  // namespace

int main() {
    weft_comm world = join_job();
    const int rank = world_rank;
    float values[3] = {1, 2, 3};
    weft_request reduce = WEFT_REQUEST_NULL;
    weft_request barrier = WEFT_REQUEST_NULL;

    weft_comm gate = WEFT_COMM_NULL;  // rank 1 starts when rank 0 has looked at what is pending
    EXPECT(weft_comm_dup(world, &gate) == WEFT_OK);
    if (rank == 0) {
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, values, 3, WEFT_FLOAT32, WEFT_SUM, world, &reduce) ==
               WEFT_OK);
        EXPECT(weft_ibarrier(world, &barrier) == WEFT_OK);
        EXPECT(weft_test(&barrier) == WEFT_PENDING);
        EXPECT(weft_finalize() == WEFT_REFUSED_OUTSTANDING);
        EXPECT(detail_has("2 operations are pending: allreduce of 12 bytes on world, barrier"));

        // Ctrl-C: the handler asks for the wait to return.
        struct sigaction action {};
        action.sa_handler = [](int) { weft_interrupt(); };
        EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
        ualarm(50'000, 0);
        EXPECT(weft_wait(&reduce) == WEFT_INTERRUPTED);
        EXPECT(reduce != WEFT_REQUEST_NULL);
        EXPECT(weft_test(&reduce) == WEFT_PENDING);
        EXPECT(weft_barrier(gate) == WEFT_OK);
    } else {
        EXPECT(weft_barrier(gate) == WEFT_OK);
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, values, 3, WEFT_FLOAT32, WEFT_SUM, world, &reduce) ==
               WEFT_OK);
        EXPECT(weft_ibarrier(world, &barrier) == WEFT_OK);
    }
    weft_request both[2] = {reduce, barrier};
    weft_status statuses[2] = {WEFT_PENDING, WEFT_PENDING};
    EXPECT(weft_waitall(2, both, statuses) == WEFT_OK);
    EXPECT(statuses[0] == WEFT_OK && statuses[1] == WEFT_OK);
    EXPECT(both[0] == WEFT_REQUEST_NULL && both[1] == WEFT_REQUEST_NULL);
    EXPECT(values[0] == 2 && values[1] == 4 && values[2] == 6);

    // The handles from before are known to be completed.
    EXPECT(weft_wait(&reduce) == WEFT_REFUSED_HANDLE);
    EXPECT(detail_has("expected a request that has not completed"));
    EXPECT(weft_test(&barrier) == WEFT_REFUSED_HANDLE);
    weft_request again[2] = {WEFT_REQUEST_NULL, reduce};
    EXPECT(weft_waitall(2, again, nullptr) == WEFT_REFUSED_HANDLE);
    EXPECT(detail_has("at requests[1]"));

    EXPECT(weft_barrier(world) == WEFT_OK);
    // Whether an operation has ended is a matter of time: finalize asks whether the program has
    // completed it.
    weft_request ended = WEFT_REQUEST_NULL;
    EXPECT(weft_ibarrier(world, &ended) == WEFT_OK);
    EXPECT(weft_barrier(world) == WEFT_OK);
    EXPECT(finalize_after_its_end() == WEFT_REFUSED_OUTSTANDING);
    EXPECT(
        detail_has("0 operations are pending, 1 have ended but were not completed by a test or "
                   "a wait: barrier of 0 bytes on world (weft_finalize)"));
    EXPECT(weft_wait(&ended) == WEFT_OK);
    weft_request persistent = WEFT_REQUEST_NULL;
    EXPECT(weft_barrier_init(world, &persistent) == WEFT_OK);
    EXPECT(weft_start(&persistent) == WEFT_OK);
    EXPECT(weft_barrier(world) == WEFT_OK);
    EXPECT(finalize_after_its_end() == WEFT_REFUSED_OUTSTANDING);
    EXPECT(
        detail_has("1 have ended but were not completed by a test or a wait: persistent barrier"));
    EXPECT(weft_wait(&persistent) == WEFT_OK);
    // (One that is not started may be left.)
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
