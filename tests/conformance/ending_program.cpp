// Threads of the program that end inside of Weft, on two ranks: cancelled in a wait, or by
// pthread_exit in a function that Weft calls. Their requests stay, other threads go on, and what a
// function left undone breaks its communicator. Ends with status 1 and a sentence otherwise.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdint>
#include <functional>

#include "conformance/rank_expect.h"

namespace {

const pthread_t main_thread = pthread_self();

// A thread with something to do; whether it has come to the end of that.
class Worker {
  public:
    explicit Worker(std::function<void()> work) : work_(std::move(work)) {
        EXPECT(pthread_create(
                   &thread_, nullptr,
                   [](void* self) -> void* {
                       auto& own = *static_cast<Worker*>(self);
                       own.work_();
                       own.returned_ = true;
                       pthread_testcancel();
                       return nullptr;
                   },
                   this) == 0);
    }
    void cancel() { EXPECT(pthread_cancel(thread_) == 0); }
    // What its thread ended with.
    void* join() {
        void* result = nullptr;
        EXPECT(pthread_join(thread_, &result) == 0);
        return result;
    }
    bool has_returned() const { return returned_; }

  private:
    std::function<void()> work_;
    pthread_t thread_{};
    bool returned_ = false;
};

weft_request expect_bcast(std::int32_t* value, weft_comm comm) {
    weft_request request = WEFT_REQUEST_NULL;
    EXPECT(weft_ibcast(value, 1, WEFT_INT32, 1, comm, &request) == WEFT_OK);
    return request;
}

constexpr std::int64_t far_ns = std::int64_t{1} << 62;

// Rank 1 sends only when rank 0 has cancelled the thread that waits.
void cancel_one_that_waits(weft_comm comm, int round) {
    std::int32_t value = world_rank == 1 ? round : -1;
    weft_request request = WEFT_REQUEST_NULL;
    if (world_rank == 0) {
        request = expect_bcast(&value, comm);
        weft_completion_queue queue = WEFT_COMPLETION_QUEUE_NULL;
        EXPECT(weft_completion_queue_create(&queue) == WEFT_OK);
        if (round % 4 == 3) EXPECT(weft_request_notify(request, queue, 5) == WEFT_OK);
        Worker worker([&] {
            weft_request copy = request;
            size_t index = 0;
            std::uint64_t cookie = 0;
            weft_status status = WEFT_OK;
            switch (round % 4) {
                case 0: weft_wait(&copy); break;
                case 1: weft_waitany(1, &copy, &index); break;
                case 2: weft_wait_until(&copy, far_ns); break;
                default: weft_completion_wait_until(queue, &cookie, &status, far_ns); break;
            }
        });
        usleep(static_cast<useconds_t>(round % 8 * 400));
        worker.cancel();
        EXPECT(worker.join() == PTHREAD_CANCELED);
        EXPECT(!worker.has_returned());
        EXPECT(weft_test(&request) == WEFT_PENDING);
        EXPECT(weft_completion_queue_free(&queue) == WEFT_OK);
    }
    EXPECT(weft_barrier(weft_comm_world()) == WEFT_OK);
    if (world_rank == 1) request = expect_bcast(&value, comm);
    EXPECT(weft_wait(&request) == WEFT_OK);
    EXPECT(value == round);
}

// One of two threads that wait goes on when the other one is cancelled, whichever of them drives.
void cancel_one_of_two(weft_comm first, weft_comm second, int round) {
    weft_comm const comms[] = {first, second};
    std::int32_t values[] = {-1, -1};
    weft_request requests[2] = {};
    if (world_rank == 1) {
        EXPECT(weft_barrier(weft_comm_world()) == WEFT_OK);
        for (int i = 0; i < 2; ++i) {
            values[i] = round + i;
            requests[i] = expect_bcast(&values[i], comms[i]);
            EXPECT(weft_wait(&requests[i]) == WEFT_OK);
        }
        return;
    }
    for (int i = 0; i < 2; ++i) requests[i] = expect_bcast(&values[i], comms[i]);
    weft_status status = WEFT_PENDING;
    const int cancelled = round % 2;
    const auto wait_for = [&](int i) {
        weft_request copy = requests[i];
        const weft_status waited = weft_wait(&copy);
        if (i != cancelled) status = waited;
    };
    Worker leader([&] { wait_for(0); });
    usleep(static_cast<useconds_t>(round % 5 * 500));
    Worker follower([&] { wait_for(1); });
    usleep(static_cast<useconds_t>(round % 3 * 500));
    Worker& ended = cancelled == 0 ? leader : follower;
    Worker& other = cancelled == 0 ? follower : leader;
    ended.cancel();
    EXPECT(ended.join() == PTHREAD_CANCELED);
    EXPECT(weft_barrier(weft_comm_world()) == WEFT_OK);
    EXPECT(other.join() == nullptr);
    EXPECT(status == WEFT_OK);
    EXPECT(weft_wait(&requests[cancelled]) == WEFT_OK);
    EXPECT(values[0] == round && values[1] == round + 1);
}

// Nobody else could complete what a blocking call has started.
void cancel_a_blocking_call(weft_comm comm) {
    std::int32_t value = world_rank == 1 ? 12 : -1;
    if (world_rank == 1) {
        usleep(3000);
        EXPECT(weft_bcast(&value, 1, WEFT_INT32, 1, comm) == WEFT_OK);
        return;
    }
    weft_status status = WEFT_PENDING;
    Worker worker([&] { status = weft_bcast(&value, 1, WEFT_INT32, 1, comm); });
    worker.cancel();
    EXPECT(worker.join() == PTHREAD_CANCELED);
    EXPECT(worker.has_returned());
    EXPECT(status == WEFT_OK && value == 12);
}

// The program sleeps outside of Weft until the operation has ended.
void await_outside(weft_request request) {
    weft_completion_queue queue = WEFT_COMPLETION_QUEUE_NULL;
    int descriptor = -1;
    EXPECT(weft_completion_queue_create(&queue) == WEFT_OK);
    EXPECT(weft_completion_fd(queue, &descriptor) == WEFT_OK);
    EXPECT(weft_request_notify(request, queue, 1) == WEFT_OK);
    pollfd polled{descriptor, POLLIN, 0};
    EXPECT(poll(&polled, 1, 30'000) == 1);
    EXPECT(weft_completion_queue_free(&queue) == WEFT_OK);
}

bool has_ended_its_thread = false;

// On rank 0, ends the thread that calls it, unless that is the main one.
void end_thread(const void* in, void* inout, size_t, weft_type, void*) {
    if (world_rank == 0 && !pthread_equal(pthread_self(), main_thread)) {
        has_ended_its_thread = true;
        pthread_exit(&has_ended_its_thread);
    }
    *static_cast<std::int32_t*>(inout) += *static_cast<const std::int32_t*>(in);
}

// `engine_works`: the engine's thread calls the function, or nobody does for a while.
void end_in_a_function(weft_comm parent, bool engine_works) {
    weft_op op = WEFT_OP_NULL;
    EXPECT((engine_works ? weft_op_create : weft_op_create_confined)(end_thread, 1, nullptr, &op) ==
           WEFT_OK);
    weft_comm comm = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup_with(parent, "reduce=binomial", &comm) == WEFT_OK);
    std::int32_t value = 1, sum = 0;
    weft_request request = WEFT_REQUEST_NULL;
    has_ended_its_thread = false;
    EXPECT(weft_ireduce(&value, &sum, 1, WEFT_INT32, op, 0, comm, &request) == WEFT_OK);
    if (world_rank == 0 && !engine_works) {
        Worker worker([&] {
            weft_request copy = request;
            weft_wait(&copy);
        });
        EXPECT(worker.join() == &has_ended_its_thread);
    } else if (world_rank == 0) {
        await_outside(request);
    }
    const weft_status status = weft_wait(&request);
    const weft_status left_undone = has_ended_its_thread ? WEFT_BROKEN_FUNCTION : WEFT_OK;
    if (world_rank == 0) EXPECT(status == left_undone);
    if (world_rank == 0 && !engine_works) EXPECT(has_ended_its_thread);
    if (world_rank == 0) EXPECT(has_ended_its_thread || sum == 2);
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    EXPECT(weft_op_free(&op) == WEFT_OK);
}

// With an engine that has a thread, also after another one has ended.
void expect_progress(weft_comm comm) {
    weft_request request = WEFT_REQUEST_NULL;
    std::int32_t one = 1, sum = 0;
    EXPECT(weft_iallreduce(&one, &sum, 1, WEFT_INT32, WEFT_SUM, comm, &request) == WEFT_OK);
    await_outside(request);
    EXPECT(weft_wait(&request) == WEFT_OK && sum == 2);
}

}  // namespace

int main() {
    weft_comm const world = join_job();
    weft_comm first = WEFT_COMM_NULL, second = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(world, &first) == WEFT_OK);
    EXPECT(weft_comm_dup(world, &second) == WEFT_OK);
    for (int round = 0; round < 24; ++round) cancel_one_that_waits(first, round);
    for (int round = 0; round < 20; ++round) cancel_one_of_two(first, second, round);
    cancel_a_blocking_call(first);
    const bool has_thread =
        weft_get_engine() != WEFT_ENGINE_MANUAL && weft_get_engine() != WEFT_ENGINE_FIBER;
    for (int round = 0; round < 3; ++round) {
        end_in_a_function(world, /*engine_works=*/false);
        if (!has_thread) continue;
        end_in_a_function(world, /*engine_works=*/true);
        EXPECT(weft_barrier(world) == WEFT_OK);
        expect_progress(world);
    }
    EXPECT(weft_barrier(world) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
