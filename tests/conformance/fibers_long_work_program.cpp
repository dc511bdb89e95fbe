// Two ranks over TCP. A signal comes for the message that rank 1's schedule waits for, and none for the copies behind it,
// which take longer than one look; a fiber computes meanwhile, and nothing but arrivals preempts it. Ends with status 1
// and a sentence if the copies are not made.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "conformance/in_fibers.h"

namespace {

constexpr std::int64_t copied_bytes = 1024 * 1024;
constexpr int copies = 400;

// The receive buffer: a message, and two regions that are copied to and fro.
weft_request make_request(weft_comm world, std::vector<char>& buffer) {
    weft_schedule schedule = WEFT_SCHEDULE_NULL;
    EXPECT(weft_schedule_create(world, &schedule) == WEFT_OK);
    const weft_region message = {WEFT_RECV_BUFFER, 0, 8};
    weft_node last = WEFT_NODE_NONE;
    if (world_rank == 0) EXPECT(weft_schedule_send(schedule, message, 1, &last) == WEFT_OK);
    if (world_rank == 1) EXPECT(weft_schedule_recv(schedule, message, 0, &last) == WEFT_OK);
    const weft_region regions[2] = {{WEFT_RECV_BUFFER, 8, copied_bytes},
                                    {WEFT_RECV_BUFFER, 8 + copied_bytes, copied_bytes}};
    for (int i = 0; world_rank == 1 && i < copies; ++i) {
        weft_node copy = WEFT_NODE_NONE;
        EXPECT(weft_schedule_copy(schedule, regions[i % 2], regions[1 - i % 2], &copy) == WEFT_OK);
        EXPECT(weft_schedule_after(schedule, copy, last) == WEFT_OK);
        last = copy;
    }
    EXPECT(weft_schedule_seal(schedule) == WEFT_OK);
    weft_request request = WEFT_REQUEST_NULL;
    EXPECT(weft_schedule_init(schedule, nullptr, buffer.data(), WEFT_BYTE, WEFT_OP_NULL,
                              &request) == WEFT_OK);
    EXPECT(weft_schedule_free(&schedule) == WEFT_OK);
    return request;
}

// Gives up after 30 s.
bool compute_until(const volatile bool& flag) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::chrono::seconds(30);
    bool is_set = false;
    weft::fibers::preemptible(
        [&] {
            while (!(is_set = flag) && steady_clock::now() < end) {
            }
        },
        {.slice_us = 0});
    return is_set;
}

void run(weft_comm world) {
    weft::fibers::preempt_on_arrival();
    std::vector<char> buffer(8 + 2 * copied_bytes);
    weft_request request = make_request(world, buffer);
    EXPECT(weft_barrier(world) == WEFT_OK);
    if (world_rank == 0) {
        usleep(20'000);  // rank 1 computes
        EXPECT(weft_start(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK);
    } else {
        bool is_done = false;
        weft::fibers::Fiber waits = weft::fibers::spawn([&] {
            EXPECT(weft_start(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK);
            is_done = true;
        });
        weft::fibers::yield();
        EXPECT(compute_until(is_done));
        waits.join();
    }
    EXPECT(weft_request_free(&request) == WEFT_OK);
    EXPECT(weft_barrier(world) == WEFT_OK);
}

}  // namespace

int main() {
    const weft_comm world = join_job();
    weft::fibers::run([&] { run(world); });
    EXPECT(weft_finalize() == WEFT_OK);
}
