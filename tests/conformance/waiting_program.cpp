// Two ranks serve sockets and collectives in one epoll loop, and sleep in nothing else; the page
// docs/waiting.md says what must hold. The argument: which part. Ends with status 1 and a sentence when
// something does not hold. With the engine `manual` there is no descriptor, and rank programs wait by
// weft_completion_wait_until.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "conformance/in_fibers.h"

namespace {

constexpr int patience_ms = 50'000;

// No thread makes a descriptor readable.
bool is_manual() {
    const weft_engine engine = weft_get_engine();
    return engine == WEFT_ENGINE_MANUAL || engine == WEFT_ENGINE_FIBER;
}

std::int64_t soon() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec + std::int64_t{patience_ms} * 1'000'000;
}

// In a fiber, the loop must not block the thread.
bool lets_others_run() {
#ifdef WEFT_TEST_HAS_FIBERS
    if (weft::fibers::is_inside()) return weft::fibers::yield(), true;
#endif
    return false;
}

// A queue that this program sleeps on in epoll_wait, beside other descriptors.
struct EventLoop {
    weft_completion_queue queue = WEFT_COMPLETION_QUEUE_NULL;
    int completions = -1;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    long wake_ups = 0;

    explicit EventLoop(bool edge_triggered = false) {
        EXPECT(weft_completion_queue_create(&queue) == WEFT_OK);
        if (is_manual()) {
            EXPECT(weft_completion_fd(queue, &completions) == WEFT_REFUSED_UNSUPPORTED);
            EXPECT(std::strncmp(weft_last_detail(), "engine ", 7) == 0);
            return;
        }
        EXPECT(weft_completion_fd(queue, &completions) == WEFT_OK && completions >= 0);
        watch(completions, edge_triggered);
    }
    ~EventLoop() {
        EXPECT(weft_completion_queue_free(&queue) == WEFT_OK);
        close(epoll);
    }
    void watch(int descriptor, bool edge_triggered = false) const {
        epoll_event event{};
        event.events = EPOLLIN | (edge_triggered ? unsigned{EPOLLET} : 0u);
        event.data.fd = descriptor;
        EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
    }

    // Sleeps until one of the descriptors is readable; calls completed(cookie, status) and
    // readable(descriptor).
    template <class OnCompleted, class OnReadable>
    void serve_once(OnCompleted on_completed, OnReadable on_readable) {
        std::uint64_t cookie = 0;
        weft_status status = WEFT_PENDING;
        if (is_manual()) {
            EXPECT(weft_completion_wait_until(queue, &cookie, &status, soon()) == WEFT_OK);
            on_completed(cookie, status);
            return;
        }
        epoll_event events[8];
        int ready;
        // (With kernel:own, steps of operations interrupt it.)
        do ready = epoll_wait(epoll, events, 8, lets_others_run() ? 0 : patience_ms);
        while ((ready < 0 && errno == EINTR) || (ready == 0 && lets_others_run()));
        EXPECT(ready > 0);
        ++wake_ups;
        for (int i = 0; i < ready; ++i) {
            if (events[i].data.fd != completions) {
                on_readable(events[i].data.fd);
                continue;
            }
            weft_status next;
            while ((next = weft_completion_next(queue, &cookie, &status)) == WEFT_OK)
                on_completed(cookie, status);
            EXPECT(next == WEFT_PENDING);
        }
    }
};

const auto no_socket = [](int) { EXPECT(!"another descriptor is readable"); };

// A collective follows the other; sockets are served beside them. The other end of the sockets is a thread
// that answers each byte.
void sockets(weft_comm world) {
    EventLoop loop;
    int pair[2];
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    constexpr int bytes = 300;
    std::thread echo([&] {
        for (char c; read(pair[1], &c, 1) == 1;) EXPECT(write(pair[1], &c, 1) == 1);
    });
    if (!is_manual()) loop.watch(pair[0]);
    constexpr std::uint64_t rounds = 300;
    std::int64_t values[3]{};
    weft_request request = WEFT_REQUEST_NULL;
    std::uint64_t round = 0;
    int echoed = is_manual() ? bytes : 0;
    const auto start = [&] {
        for (std::int64_t& value : values) value = world_rank + static_cast<std::int64_t>(round);
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, values, 3, WEFT_INT64, WEFT_SUM, world, &request) ==
               WEFT_OK);
        EXPECT(weft_request_notify(request, loop.queue, round) == WEFT_OK);
    };
    start();
    if (!is_manual()) EXPECT(write(pair[0], "x", 1) == 1);
    while (round < rounds || echoed < bytes) {
        loop.serve_once(
            [&](std::uint64_t cookie, weft_status status) {
                EXPECT(cookie == round && status == WEFT_OK);
                EXPECT(weft_test(&request) == WEFT_OK && request == WEFT_REQUEST_NULL);
                for (std::int64_t value : values)
                    EXPECT(value == world_size * (world_size - 1) / 2 +
                                        world_size * static_cast<std::int64_t>(round));
                if (++round < rounds) start();
            },
            [&](int) {
                char c;
                EXPECT(read(pair[0], &c, 1) == 1 && c == 'x');
                if (++echoed < bytes) EXPECT(write(pair[0], "x", 1) == 1);
            });
    }
    close(pair[0]);
    echo.join();
    close(pair[1]);
}

// No busy loop: it wakes up for completions, and for little else.
void thousand(weft_comm world) {
    for (const bool edge_triggered : {false, true}) {
        EventLoop loop(edge_triggered);
        constexpr std::size_t all = 1000;
        std::vector<std::int64_t> values(all);
        std::vector<weft_request> requests(all);
        for (std::size_t i = 0; i < all; ++i) {
            values[i] = world_rank == 0 ? static_cast<std::int64_t>(i) : -1;
            EXPECT(weft_ibcast(&values[i], 1, WEFT_INT64, 0, world, &requests[i]) == WEFT_OK);
            EXPECT(weft_request_notify(requests[i], loop.queue, i) == WEFT_OK);
        }
        std::size_t seen = 0;
        while (seen < all) {
            loop.serve_once(
                [&](std::uint64_t i, weft_status status) {
                    EXPECT(i < all && status == WEFT_OK && requests[i] != WEFT_REQUEST_NULL);
                    EXPECT(weft_test(&requests[i]) == WEFT_OK);
                    EXPECT(values[i] == static_cast<std::int64_t>(i));
                    ++seen;
                },
                no_socket);
        }
        EXPECT(loop.wake_ups <= static_cast<long>(all) + 10);
        std::uint64_t cookie;
        weft_status status;
        EXPECT(weft_completion_next(loop.queue, &cookie, &status) == WEFT_PENDING);
    }
}

// Rank 1 computes outside of Weft, and is asked for its part only by rank 0's mark; large blocks, too.
void demanded(weft_comm world) {
    for (const std::size_t count : {1u, 3000u, 100'000u}) {
        for (int round = 0; round < 20; ++round) {
            EventLoop loop;
            std::vector<std::int64_t> values(count, world_rank + round);
            weft_request request = WEFT_REQUEST_NULL;
            EXPECT(weft_iallreduce(WEFT_IN_PLACE, values.data(), count, WEFT_INT64, WEFT_SUM, world,
                                   &request) == WEFT_OK);
            if (world_rank == 0) {
                EXPECT(weft_request_notify(request, loop.queue, 1) == WEFT_OK);
                loop.serve_once([](std::uint64_t, weft_status) {}, no_socket);
                EXPECT(weft_test(&request) == WEFT_OK);
            } else {
                if (!is_manual()) usleep(2000);
                EXPECT(weft_wait(&request) == WEFT_OK);
            }
            for (std::int64_t value : values)
                EXPECT(value == world_size * (world_size - 1) / 2 + world_size * round);
        }
    }
}

// Functions that only the program's thread may call: the descriptor becomes readable for them, too.
std::thread::id the_thread;
void add(const void* in, void* inout, size_t count, weft_type, void*) {
    EXPECT(std::this_thread::get_id() == the_thread);
    for (size_t i = 0; i < count; ++i)
        static_cast<std::int64_t*>(inout)[i] += static_cast<const std::int64_t*>(in)[i];
}
void confined(weft_comm world) {
    the_thread = std::this_thread::get_id();
    weft_op op = WEFT_OP_NULL;
    EXPECT(weft_op_create_confined(add, 1, nullptr, &op) == WEFT_OK);
    EventLoop loop;
    for (int round = 0; round < 50; ++round) {
        std::int64_t value = world_rank + round;
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT64, op, world, &request) ==
               WEFT_OK);
        EXPECT(weft_request_notify(request, loop.queue, 1) == WEFT_OK);
        bool is_done = false;
        while (!is_done)
            loop.serve_once([&](std::uint64_t, weft_status) { is_done = true; }, no_socket);
        EXPECT(weft_test(&request) == WEFT_OK);
        EXPECT(value == world_size * (world_size - 1) / 2 + world_size * round);
    }
    EXPECT(weft_op_free(&op) == WEFT_OK);
}

// What is refused, a forked child, and queues that are left to weft_finalize.
weft_request never_completed = WEFT_REQUEST_NULL;

void edges(weft_comm world) {
    EXPECT(weft_completion_queue_create(nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_completion_queue_free(nullptr) == WEFT_REFUSED_ARGUMENT);
    weft_completion_queue none = WEFT_COMPLETION_QUEUE_NULL;
    EXPECT(weft_completion_queue_free(&none) == WEFT_OK);
    std::uint64_t cookie = 5;
    weft_status status = WEFT_INTERRUPTED;
    int descriptor = -1;
    EXPECT(weft_completion_next(none, &cookie, &status) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_completion_wait_until(none, &cookie, &status, 0) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_completion_fd(none, &descriptor) == WEFT_REFUSED_HANDLE);
    weft_completion_queue freed;
    EXPECT(weft_completion_queue_create(&freed) == WEFT_OK);
    weft_completion_queue old = freed;
    EXPECT(weft_completion_queue_free(&freed) == WEFT_OK && freed == none);
    EXPECT(weft_completion_queue_free(&old) == WEFT_REFUSED_HANDLE);

    EventLoop loop;
    EXPECT(weft_completion_fd(loop.queue, nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_completion_next(loop.queue, nullptr, &status) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_completion_next(loop.queue, &cookie, nullptr) == WEFT_REFUSED_ARGUMENT);
    EXPECT(weft_completion_next(loop.queue, &cookie, &status) == WEFT_PENDING);
    EXPECT(cookie == 5 && status == WEFT_INTERRUPTED);
    EXPECT(weft_completion_wait_until(loop.queue, &cookie, &status, 0) == WEFT_TIMED_OUT);
    weft_request request = WEFT_REQUEST_NULL;
    EXPECT(weft_request_notify(request, loop.queue, 1) == WEFT_REFUSED_HANDLE);
    EXPECT(weft_request_notify(request, none, 1) == WEFT_OK);
    EXPECT(weft_ibarrier(world, &request) == WEFT_OK);
    const weft_request stale = request;
    EXPECT(weft_wait(&request) == WEFT_OK);
    EXPECT(weft_request_notify(stale, loop.queue, 1) == WEFT_REFUSED_HANDLE);

    // The child takes nothing from its parent.
    EXPECT(weft_ibarrier(world, &request) == WEFT_OK);
    EXPECT(weft_request_notify(request, loop.queue, 8) == WEFT_OK);
    const pid_t child = fork();
    if (child == 0) {
        char c[8];
        const bool is_apart =
            weft_completion_next(loop.queue, &cookie, &status) == WEFT_REFUSED_STATE &&
            (is_manual() || read(loop.completions, c, sizeof c) < 0);
        _exit(is_apart ? 0 : 1);
    }
    int ended = -1;
    EXPECT(waitpid(child, &ended, 0) == child && ended == 0);
    loop.serve_once([](std::uint64_t seen, weft_status) { EXPECT(seen == 8); }, no_socket);
    EXPECT(weft_wait(&request) == WEFT_OK);

    // Left to weft_finalize, with a mark.
    weft_completion_queue left;
    EXPECT(weft_completion_queue_create(&left) == WEFT_OK);
    EXPECT(is_manual() || weft_completion_fd(left, &descriptor) == WEFT_OK);
    EXPECT(weft_ibarrier(world, &never_completed) == WEFT_OK);
    EXPECT(weft_request_notify(never_completed, left, 9) == WEFT_OK);
    EXPECT(weft_barrier(world) == WEFT_OK);
    while (weft_progress() == WEFT_PENDING) usleep(100);
}

}  // namespace

int main(int, char** arguments) {
    const std::string part = arguments[1];
    weft_comm world = join_job();
    run_here_or_in_fibers([&](weft_comm comm) {
        if (part == "sockets") sockets(comm);
        if (part == "thousand") thousand(comm);
        if (part == "demanded") demanded(comm);
        if (part == "confined") confined(comm);
        if (part == "edges") edges(comm);
    });
    EXPECT(weft_barrier(world) == WEFT_OK);
    if (part == "edges") {
        EXPECT(weft_finalize() == WEFT_REFUSED_OUTSTANDING);
        EXPECT(weft_wait(&never_completed) == WEFT_OK);
    }
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
