// The request interface as a program calls it, on two ranks; rank 1 is late where rank 0 looks at
// what is pending. Ends with status 1 and a sentence when something does not hold.
#include <time.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "conformance/in_fibers.h"
#include "conformance/rank_expect.h"

namespace {

// In a fiber it is a duplicate.
std::string name_of(weft_comm world) {
    return world == weft_comm_world() ? "world" : "dup of world";
}

bool detail_is(const std::string& text) { return weft_last_detail() == text; }

std::int64_t in_ms(std::int64_t ms) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec + ms * 1'000'000;
}

struct Buffers {
    double sum[4];
    double from[4];
    double gathered[8];
    double cast[4];
    double at_root[8];  // gather to rank 1
    double shares[8];   // scatter from rank 0
    double share[4];
    double exchanged[8];  // alltoall in place
    double largest[4];    // reduce to rank 0
};

constexpr int kinds = 8;

// Persistent requests of every kind, restarted; the ranks start them in opposite orders.
void every_kind(weft_comm world, int rank) {
    Buffers b{};
    weft_request requests[kinds];
    EXPECT(weft_allreduce_init(WEFT_IN_PLACE, b.sum, 4, WEFT_FLOAT64, WEFT_SUM, world,
                               &requests[0]) == WEFT_OK);
    EXPECT(weft_allgather_init(b.from, b.gathered, 4, WEFT_FLOAT64, world, &requests[1]) ==
           WEFT_OK);
    EXPECT(weft_bcast_init(b.cast, 4, WEFT_FLOAT64, 1, world, &requests[2]) == WEFT_OK);
    EXPECT(weft_barrier_init(world, &requests[3]) == WEFT_OK);
    EXPECT(weft_gather_init(b.from, b.at_root, 4, WEFT_FLOAT64, 1, world, &requests[4]) == WEFT_OK);
    EXPECT(weft_scatter_init(b.shares, b.share, 4, WEFT_FLOAT64, 0, world, &requests[5]) ==
           WEFT_OK);
    EXPECT(weft_alltoall_init(WEFT_IN_PLACE, b.exchanged, 4, WEFT_FLOAT64, world, &requests[6]) ==
           WEFT_OK);
    EXPECT(weft_reduce_init(b.from, b.largest, 4, WEFT_FLOAT64, WEFT_MAX, 0, world, &requests[7]) ==
           WEFT_OK);
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 4; ++i) {
            b.sum[i] = b.from[i] = round + rank + i;
            b.cast[i] = rank == 1 ? round - i : -1;
            for (int block = 0; block < 2; ++block) {
                b.shares[4 * block + i] = 100 * block + round + i;
                b.exchanged[4 * block + i] = 10 * rank + block + round + i;
            }
        }
        if (round % 2 == 0) {
            EXPECT(weft_startall(kinds, requests) == WEFT_OK);
        } else {
            for (int i = 0; i < kinds; ++i)
                EXPECT(weft_start(&requests[rank == 0 ? i : kinds - 1 - i]) == WEFT_OK);
        }
        weft_status statuses[kinds];
        for (weft_status& status : statuses) status = WEFT_PENDING;
        if (round % 3 == 0) {
            weft_status status = WEFT_PENDING;
            while (status == WEFT_PENDING) status = weft_testall(kinds, requests, statuses);
            EXPECT(status == WEFT_OK);
        } else {
            EXPECT(weft_waitall(kinds, requests, statuses) == WEFT_OK);
        }
        for (weft_status status : statuses) EXPECT(status == WEFT_OK);
        for (int i = 0; i < 4; ++i) {
            EXPECT(b.sum[i] == 2 * (round + i) + 1);
            EXPECT(b.gathered[i] == round + i && b.gathered[4 + i] == round + 1 + i);
            EXPECT(b.cast[i] == round - i);
            EXPECT(rank != 1 || (b.at_root[i] == round + i && b.at_root[4 + i] == round + 1 + i));
            EXPECT(b.share[i] == 100 * rank + round + i);
            EXPECT(b.exchanged[i] == rank + round + i);
            EXPECT(b.exchanged[4 + i] == 10 + rank + round + i);
            EXPECT(rank != 0 || b.largest[i] == round + 1 + i);
        }
    }
    for (weft_request& request : requests) {
        EXPECT(weft_test(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK);
        EXPECT(request != WEFT_REQUEST_NULL);
        weft_request freed = request;
        EXPECT(weft_request_free(&request) == WEFT_OK && request == WEFT_REQUEST_NULL);
        EXPECT(weft_request_free(&request) == WEFT_OK);
        EXPECT(weft_start(&freed) == WEFT_REFUSED_HANDLE);
    }
}

// Rank 0 looks at requests of all kinds while rank 1 is late. requests[]: null, inactive,
// persistent, nonblocking.
void look_at_pending(weft_comm world, weft_request* requests) {
    double* no_values = nullptr;
    EXPECT(weft_barrier_init(world, &requests[1]) == WEFT_OK);
    EXPECT(weft_bcast_init(no_values, 0, WEFT_FLOAT64, 1, world, &requests[2]) == WEFT_OK);
    EXPECT(weft_start(&requests[2]) == WEFT_OK);
    EXPECT(weft_ibarrier(world, &requests[3]) == WEFT_OK);
    weft_request before[4];
    std::memcpy(before, requests, sizeof before);

    size_t index = 5, completed = 5, indices[4];
    EXPECT(weft_testany(4, requests, &index) == WEFT_PENDING && index == WEFT_NONE);
    EXPECT(weft_testsome(4, requests, &completed, indices, nullptr) == WEFT_PENDING);
    EXPECT(completed == 0);
    EXPECT(weft_testall(4, requests, nullptr) == WEFT_PENDING);
    EXPECT(weft_testany(2, requests, &index) == WEFT_OK && index == WEFT_NONE);
    EXPECT(weft_waitany(2, requests, &index) == WEFT_OK && index == WEFT_NONE);
    EXPECT(weft_waitsome(2, requests, &completed, indices, nullptr) == WEFT_OK);
    EXPECT(completed == WEFT_NONE);

    EXPECT(weft_wait_until(&requests[3], in_ms(20)) == WEFT_TIMED_OUT);
    const std::string on = " on " + name_of(world);
    EXPECT(
        detail_is("barrier of 0 bytes" + on + " waits for messages from rank 1 (weft_wait_until)"));
    EXPECT(weft_waitall_until(4, requests, nullptr, in_ms(20)) == WEFT_TIMED_OUT);
    EXPECT(detail_is("persistent bcast of 0 bytes" + on +
                     " waits for messages from rank 1; barrier of 0 bytes" + on +
                     " waits for messages from rank 1 (weft_waitall_until)"));
    // A pending test leaves the sentence alone. (It lets other fibers run, which share it.)
    EXPECT(weft_test(&requests[2]) == WEFT_PENDING);
    const bool is_alone = world == weft_comm_world();
    EXPECT(!is_alone || std::strstr(weft_last_detail(), "(weft_waitall_until)") != nullptr);

    EXPECT(weft_start(&requests[2]) == WEFT_REFUSED_STATE);
    EXPECT(detail_is("persistent bcast of 0 bytes" + on +
                     " is active; expected a request that is not started (weft_start)"));
    EXPECT(weft_startall(4, requests) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_startall(3, requests + 1) == WEFT_REFUSED_STATE);
    EXPECT(std::strstr(weft_last_detail(), "at requests[1] (weft_startall)") != nullptr);
    EXPECT(weft_request_free(&requests[2]) == WEFT_REFUSED_OUTSTANDING);
    EXPECT(weft_request_free(&requests[3]) == WEFT_REFUSED_OUTSTANDING);
    EXPECT(detail_is("barrier of 0 bytes" + on +
                     " is active; expected an inactive request (weft_request_free)"));
    EXPECT(weft_finalize() == WEFT_REFUSED_OUTSTANDING);
    EXPECT(!is_alone || std::strstr(weft_last_detail(),
                                    "2 operations are pending: persistent bcast of 0 bytes "
                                    "on world, barrier of 0 bytes on world") != nullptr);
    EXPECT(std::memcmp(before, requests, sizeof before) == 0);
}

void late(weft_comm world, weft_request* requests) {
    EXPECT(weft_barrier_init(world, &requests[1]) == WEFT_OK);
    EXPECT(weft_bcast_init(nullptr, 0, WEFT_FLOAT64, 1, world, &requests[2]) == WEFT_OK);
    EXPECT(weft_ibarrier(world, &requests[3]) == WEFT_OK);
    EXPECT(weft_start(&requests[2]) == WEFT_OK);
}

// With requests[] as above, one after the other.
void complete_one_by_one(weft_request* requests) {
    const weft_request persistent = requests[2];
    size_t index = 5, completed = 5, indices[4];
    weft_status statuses[4];
    EXPECT(weft_waitany(4, requests, &index) == WEFT_OK && (index == 2 || index == 3));
    EXPECT(requests[index] == (index == 2 ? persistent : WEFT_REQUEST_NULL));
    EXPECT(weft_waitsome(4, requests, &completed, indices, statuses) == WEFT_OK);
    EXPECT(completed == 1 && indices[0] == 5 - index && statuses[0] == WEFT_OK);
    EXPECT(requests[2] == persistent && requests[3] == WEFT_REQUEST_NULL);
    EXPECT(weft_waitall_until(4, requests, statuses, 0) == WEFT_OK);
    EXPECT(weft_wait_until(&requests[2], 0) == WEFT_OK);
}

// On a communicator of two ranks.
void complete(weft_comm world) {
    every_kind(world, world_rank);
    weft_request requests[4] = {};
    // Rank 1 is late until rank 0 has looked: a barrier on another communicator says so.
    weft_comm aside = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(world, &aside) == WEFT_OK);
    if (world_rank == 0) look_at_pending(world, requests);
    EXPECT(weft_barrier(aside) == WEFT_OK);
    if (world_rank == 1) late(world, requests);
    complete_one_by_one(requests);
    EXPECT(weft_barrier(world) == WEFT_OK);
}

}  // namespace

int main() {
    join_job();
    run_here_or_in_fibers(complete);
    // Inactive requests are freed by this.
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
