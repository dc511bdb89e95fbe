// Several threads of each rank, each on a communicator of its own: ENGINE ROUNDS. The threads make
// their communicators at the same time, from different parents and so in any order, and loop over
// the collectives; two wait, two test. Ends with status 1 and a sentence when a result is wrong.
#include <weft/weft.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

weft_status complete(weft_request& request, bool tests) {
    if (!tests) return weft_wait(&request);
    weft_status status;
    while ((status = weft_test(&request)) == WEFT_PENDING) std::this_thread::yield();
    return status;
}

bool use(int thread, weft_comm comm, int round) {
    bool tests = thread % 2 == 1;
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
    weft_request requests[4] = {};
    if (weft_iallreduce(WEFT_IN_PLACE, sum.data(), count, WEFT_INT32, WEFT_SUM, comm,
                        &requests[0]) != WEFT_OK ||
        weft_ibcast(cast.data(), count, WEFT_INT32, round % size, comm, &requests[1]) != WEFT_OK ||
        weft_iallgather(from.data(), all.data(), count, WEFT_INT32, comm, &requests[2]) !=
            WEFT_OK ||
        weft_ibarrier(comm, &requests[3]) != WEFT_OK) {
        return expect(false, thread, "a start");
    }
    for (weft_request& request : requests) {
        if (!expect(complete(request, tests) == WEFT_OK, thread, "a completion")) return false;
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
