// Several threads of each rank, each on a communicator of its own: ENGINE ROUNDS. The threads make
// their communicators at the same time, from different parents and so in any order, and loop over
// the collectives, completing them in every way there is. Ends with status 1 and a sentence when a
// result is wrong.
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 4;
std::atomic<bool> wrong{false};

bool expect(bool condition, int thread, const char* what) {
    if (condition) return true;
    if (!wrong.exchange(true)) {
        std::fprintf(stderr, "thread %d: %s; detail: %s\n", thread, what, weft_last_detail());
    }
    return false;
}

constexpr std::size_t several = 4;  // requests at a time
using Requests = weft_request[several];

// Ways to complete several requests. Each gives the worst status.
weft_status by_wait(Requests& requests) {
    weft_status worst = WEFT_OK;
    for (weft_request& request : requests) worst = std::min(worst, weft_wait(&request));
    return worst;
}

weft_status by_test(Requests& requests) {
    weft_status worst = WEFT_OK;
    for (weft_request& request : requests) {
        weft_status status;
        while ((status = weft_test(&request)) == WEFT_PENDING) std::this_thread::yield();
        worst = std::min(worst, status);
    }
    return worst;
}

weft_status by_waitall(Requests& requests) { return weft_waitall(several, requests, nullptr); }

weft_status by_testall(Requests& requests) {
    weft_status status;
    while ((status = weft_testall(several, requests, nullptr)) == WEFT_PENDING) {
        std::this_thread::yield();
    }
    return status;
}

weft_status by_waitany(Requests& requests) {
    while (true) {
        std::size_t index = 0;
        weft_status status = weft_waitany(several, requests, &index);
        if (status != WEFT_OK || index == WEFT_NONE) return status;
    }
}

weft_status by_testany(Requests& requests) {
    while (true) {
        std::size_t index = 0;
        weft_status status = weft_testany(several, requests, &index);
        if (status == WEFT_PENDING) {
            std::this_thread::yield();
        } else if (status != WEFT_OK || index == WEFT_NONE) {
            return status;
        }
    }
}

weft_status by_waitsome(Requests& requests) {
    while (true) {
        std::size_t completed = 0;
        std::size_t indices[several];
        weft_status status = weft_waitsome(several, requests, &completed, indices, nullptr);
        if (status != WEFT_OK || completed == WEFT_NONE) return status;
    }
}

weft_status by_testsome(Requests& requests) {
    while (true) {
        std::size_t completed = 0;
        std::size_t indices[several];
        weft_status status = weft_testsome(several, requests, &completed, indices, nullptr);
        if (status == WEFT_PENDING) {
            std::this_thread::yield();
        } else if (status != WEFT_OK || completed == WEFT_NONE) {
            return status;
        }
    }
}

weft_status by_deadline(Requests& requests) {
    weft_status status = weft_waitall_until(several, requests, nullptr, 0);  // long past
    return status == WEFT_TIMED_OUT ? weft_waitall(several, requests, nullptr) : status;
}

weft_status by_another_thread(Requests& requests) {
    weft_status status = WEFT_PENDING;
    std::thread other([&] { status = by_waitany(requests); });
    other.join();
    return status;
}

constexpr weft_status (*ways[])(Requests&) = {
    by_wait,    by_test,     by_waitall,  by_testall,  by_waitany,
    by_testany, by_waitsome, by_testsome, by_deadline, by_another_thread,
};

bool use(int thread, weft_comm comm, int round) {
    int rank = -1;
    int size = 0;
    weft_comm_rank(comm, &rank);
    weft_comm_size(comm, &size);
    auto count = static_cast<std::size_t>(1 + round * 97 % 3000);
    std::int32_t own = 1000 * thread + 10 * round;
    std::vector<std::int32_t> sum(count, own + rank);
    std::vector<std::int32_t> cast(count, rank == round % size ? own : -1);
    std::vector<std::int32_t> from(count, own + rank);
    std::vector<std::int32_t> all(count * static_cast<std::size_t>(size));
    Requests requests = {};
    if (weft_iallreduce(WEFT_IN_PLACE, sum.data(), count, WEFT_INT32, WEFT_SUM, comm,
                        &requests[0]) != WEFT_OK ||
        weft_ibcast(cast.data(), count, WEFT_INT32, round % size, comm, &requests[1]) != WEFT_OK ||
        weft_iallgather(from.data(), all.data(), count, WEFT_INT32, comm, &requests[2]) !=
            WEFT_OK ||
        weft_ibarrier(comm, &requests[3]) != WEFT_OK) {
        return expect(false, thread, "a start");
    }
    auto way = static_cast<std::size_t>(3 * thread + round) % std::size(ways);
    if (!expect(ways[way](requests) == WEFT_OK, thread, "a completion")) return false;
    for (weft_request request : requests) {
        if (!expect(request == WEFT_REQUEST_NULL, thread, "not completed")) return false;
    }
    std::int32_t total = size * own + size * (size - 1) / 2;
    for (std::size_t i = 0; i < count; ++i) {
        if (!expect(sum[i] == total && cast[i] == own, thread, "wrong data")) return false;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto from_rank = static_cast<std::int32_t>(i / count);
        if (!expect(all[i] == own + from_rank, thread, "wrong gathered data")) return false;
    }
    return true;
}

void run(int thread, weft_comm parent, int rounds) {
    for (int round = 0; round < rounds && !wrong; ++round) {
        weft_comm comm = WEFT_COMM_NULL;
        weft_comm half = WEFT_COMM_NULL;
        int rank = -1;
        weft_comm_rank(parent, &rank);
        if (!expect(weft_comm_dup(parent, &comm) == WEFT_OK, thread, "weft_comm_dup")) return;
        if (!expect(weft_comm_split(comm, rank / 2, 0, &half) == WEFT_OK, thread,
                    "weft_comm_split")) {
            return;
        }
        if (!use(thread, comm, round) || !use(thread, half, round)) return;
        weft_comm_free(&comm);
        if (!use(thread, half, round)) return;
        weft_comm_free(&half);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    setenv("WEFT_ENGINE", argv[1], 1);
    int rounds = std::atoi(argv[2]);
    if (weft_init() != WEFT_OK) return std::fprintf(stderr, "%s\n", weft_last_detail()), 1;
    weft_comm comms[threads] = {};
    for (weft_comm& comm : comms) {
        if (weft_comm_dup(weft_comm_world(), &comm) != WEFT_OK) return 1;
    }
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([&, i] { run(i, comms[i], rounds); });
    for (std::thread& thread : running) thread.join();
    if (wrong) return 1;
    return weft_barrier(weft_comm_world()) == WEFT_OK && weft_finalize() == WEFT_OK ? 0 : 1;
}
