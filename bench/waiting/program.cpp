// How long an allreduce of 8 bytes takes from its start until the program goes on, for each way to wait: in
// weft_wait, as a coroutine under weft::run, and in an epoll loop of the program's own; and what waking a thread
// through an eventfd takes, on the same core and on another one, which is idle. A sleeping loop takes two wake-ups: the
// peer wakes the progress thread, and that wakes the program. Start it with two ranks on a quiet machine:
//   WEFT_TRANSPORT=shm weft run -n 2 --bind core build/release/weft_bench_waiting
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <weft/coroutine.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int rounds = 500;  // at a time: the ways take turns
constexpr int turns = 10;

using Clock = std::chrono::steady_clock;

struct Samples {
    std::string name;
    std::vector<double> us = {};
    long wake_ups = 0;

    void print() {
        if (us.empty()) return;
        std::ranges::sort(us);
        const auto at = [&](double part) {
            return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
        };
        std::printf("%-42s %8.2f %8.2f %8.2f us", name.c_str(), at(0.1), at(0.5), at(0.9));
        if (wake_ups > 0)
            std::printf("   %.2f returns of epoll_wait each",
                        static_cast<double>(wake_ups) / static_cast<double>(us.size()));
        std::printf("\n");
    }
};

// One allreduce of 8 bytes. `late`: the other ranks start when rank 0 sleeps, and the time counts from their start.
class Round {
  public:
    Round(const weft::Communicator& comm, bool late) : is_late_(late) {
        const auto end = Clock::now() + late_by;
        while (late && comm.rank() != 0 && Clock::now() < end) {
        }
        value_ = begin_ = nanoseconds();
        request_ = comm.iallreduce(weft::in_place, std::span(&value_, 1), weft::max);
    }
    weft::Request& request() { return request_; }
    void end(Samples& samples) const {
        samples.us.push_back(static_cast<double>(nanoseconds() - (is_late_ ? value_ : begin_)) /
                             1e3);
    }

  private:
    static constexpr std::chrono::microseconds late_by{300};

    static std::int64_t nanoseconds() {
        return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
    }

    const bool is_late_;
    std::int64_t begin_ = 0;
    std::int64_t value_ = 0;  // of the last rank that has started
    weft::Request request_;
};

void by_wait(const weft::Communicator& comm, bool late, Samples& samples) {
    for (int i = 0; i < rounds; ++i) {
        Round round(comm, late);
        round.request().wait();
        round.end(samples);
    }
}

weft::Task<> by_await(const weft::Communicator& comm, bool late, Samples& samples) {
    for (int i = 0; i < rounds; ++i) {
        Round round(comm, late);
        co_await round.request();
        round.end(samples);
    }
}

void by_epoll(const weft::Communicator& comm, bool late, Samples& samples) {
    const weft::CompletionQueue queue;
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, queue.descriptor(), &event);
    for (int i = 0; i < rounds; ++i) {
        Round round(comm, late);
        queue.notify(round.request(), 0);
        while (!queue.next()) {
            epoll_wait(epoll, &event, 1, -1);
            ++samples.wake_ups;
        }
        round.request().wait();
        round.end(samples);
    }
    close(epoll);
}

// False: the operating system refuses.
bool go_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

// Half of what two threads take that wake each other, on one core or on two. Adds nothing if there is only one.
void wake_up(Samples& samples, bool on_other_core) {
    const int there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);
    eventfd_t count;
    cpu_set_t before;
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    const int here = sched_getcpu();
    go_to(here);
    bool is_placed = true;
    std::thread other([&] {
        if (on_other_core) {
            int core = 0;
            while (core < CPU_SETSIZE && (core == here || !go_to(core))) ++core;
            is_placed = core < CPU_SETSIZE;
        }
        eventfd_t seen;
        eventfd_write(back, 1);
        for (int i = 0; is_placed && i < rounds; ++i) {
            eventfd_read(there, &seen);
            eventfd_write(back, 1);
        }
    });
    eventfd_read(back, &count);
    for (int i = 0; is_placed && i < rounds; ++i) {
        const auto begin = Clock::now();
        eventfd_write(there, 1);
        eventfd_read(back, &count);
        const std::chrono::duration<double, std::micro> both = Clock::now() - begin;
        samples.us.push_back(both.count() / 2);
    }
    other.join();
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    close(there);
    close(back);
}

}  // namespace

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    std::vector<Samples> all;
    for (const char* peer : {"", ", the peer late"})
        for (const char* way : {"weft_wait", "co_await under weft::run", "an epoll loop"})
            all.push_back({std::string(way) + peer});
    all.push_back({"waking a thread of this core"});
    all.push_back({"waking a thread of another one"});
    for (int turn = 0; turn <= turns; ++turn) {
        std::size_t row = 0;
        for (const bool late : {false, true}) {
            by_wait(world, late, all[row++]);
            weft::run(by_await(world, late, all[row++]));
            by_epoll(world, late, all[row++]);
        }
        world.barrier();
        for (const bool on_other_core : {false, true})
            if (world.rank() == 0) wake_up(all[row++], on_other_core);
        world.barrier();
        if (turn > 0) continue;
        for (Samples& warm_up : all) warm_up = {warm_up.name};
    }
    if (world.rank() == 0) {
        std::printf("%-42s %8s %8s %8s\n", "", "10 %", "median", "90 %");
        for (Samples& samples : all) samples.print();
    }
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
