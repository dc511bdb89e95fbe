// How long an allreduce of 8 bytes takes from its start until the program goes on, for each way to wait: in
// weft_wait, as a coroutine under weft::run, and in an epoll loop of the program's own; and what waking a thread
// through an eventfd takes. Start it with two ranks on a quiet machine:
//   WEFT_TRANSPORT=shm weft run -n 2 build/release/weft_bench_waiting
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <weft/coroutine.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace {

constexpr int rounds = 2000;  // at a time: the ways take turns
constexpr int turns = 10;

using Clock = std::chrono::steady_clock;

struct Samples {
    const char* name;
    std::vector<double> us;
    long wake_ups = 0;

    void add(Clock::time_point begin) {
        us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    void print() {
        std::ranges::sort(us);
        const auto at = [&](double part) {
            return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
        };
        std::printf("%-28s %8.2f %8.2f %8.2f us", name, at(0.1), at(0.5), at(0.9));
        if (wake_ups > 0)
            std::printf("   %.2f returns of epoll_wait each",
                        static_cast<double>(wake_ups) / static_cast<double>(us.size()));
        std::printf("\n");
    }
};

void by_wait(const weft::Communicator& comm, Samples& samples) {
    double value = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        comm.iallreduce(weft::in_place, std::span(&value, 1), weft::sum).wait();
        samples.add(begin);
    }
}

weft::Task<> by_await(const weft::Communicator& comm, Samples& samples) {
    double value = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        co_await comm.iallreduce(weft::in_place, std::span(&value, 1), weft::sum);
        samples.add(begin);
    }
}

void by_epoll(const weft::Communicator& comm, Samples& samples) {
    const weft::CompletionQueue queue;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, queue.descriptor(), &event);
    double value = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        weft::Request request = comm.iallreduce(weft::in_place, std::span(&value, 1), weft::sum);
        queue.notify(request, 0);
        while (!queue.next()) {
            epoll_wait(epoll, &event, 1, -1);
            ++samples.wake_ups;
        }
        request.wait();
        samples.add(begin);
    }
    close(epoll);
}

// Half of what two threads take that wake each other.
void wake_up(Samples& samples) {
    const int there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);
    eventfd_t count;
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            eventfd_t seen;
            eventfd_read(there, &seen);
            eventfd_write(back, 1);
        }
    });
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        eventfd_write(there, 1);
        eventfd_read(back, &count);
        samples.add(begin);
        samples.us.back() /= 2;
    }
    other.join();
    close(there);
    close(back);
}

}  // namespace

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    Samples wait{"weft_wait", {}}, await{"co_await under weft::run", {}},
        epoll{"an epoll loop", {}}, eventfds{"waking a thread (eventfd)", {}};
    for (int turn = 0; turn <= turns; ++turn) {
        by_wait(world, wait);
        weft::run(by_await(world, await));
        by_epoll(world, epoll);
        world.barrier();
        if (world.rank() == 0) wake_up(eventfds);
        world.barrier();
        if (turn > 0) continue;
        for (Samples* warm_up : {&wait, &await, &epoll, &eventfds}) *warm_up = {warm_up->name, {}};
    }
    if (world.rank() == 0) {
        std::printf("%-28s %8s %8s %8s\n", "", "10 %", "median", "90 %");
        for (Samples* samples : {&wait, &await, &epoll, &eventfds}) samples->print();
    }
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
