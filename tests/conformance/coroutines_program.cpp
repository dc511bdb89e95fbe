// Coroutines that await requests, on real ranks. The argument: which part. Ends with status 1 and a
// sentence when something does not hold.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <weft/coroutine.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "conformance/in_fibers.h"
#include "support/counting_new.h"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using weft::Communicator;
using weft::Request;
using weft::Task;
using weft::test::allocations;

bool is_manual() {
    const char* engine = std::getenv("WEFT_ENGINE");
    return engine && std::strcmp(engine, "manual") == 0;
}

std::int64_t sum_of(std::int64_t addend) {
    return world_size * (world_size - 1) / 2 + world_size * addend;
}

Task<std::int64_t> sum(const Communicator& comm, std::int64_t addend) {
    std::int64_t value = world_rank + addend;
    co_await comm.iallreduce(weft::in_place, std::span(&value, 1), weft::sum);
    co_return value;
}

// --- Requests ------------------------------------------------------------------------------------

Task<> await_requests(const Communicator& world) {
    Request null;
    co_await null;
    for (int round = 0; round < 100; ++round) {
        Request request = world.ibarrier();
        co_await request;
        EXPECT(!request);
        EXPECT(co_await sum(world, round) == sum_of(round));
    }
    Request persistent = world.barrier_init();
    co_await persistent;  // not started
    for (int round = 0; round < 10; ++round) {
        persistent.start();
        co_await persistent;
        EXPECT(persistent);
    }
    // Several at once, of which some are complete or null.
    std::vector<std::int64_t> values(300, world_rank);
    for (int round = 0; round < 10; ++round) {
        Request first = world.ibarrier(), second = world.ibarrier(), third;
        persistent.start();
        co_await weft::when_all(first, second, third, persistent);
        EXPECT(!first && !second && !third && persistent);
        std::vector<Request> requests;
        std::ranges::fill(values, world_rank);
        for (std::int64_t& value : values)
            requests.push_back(world.iallreduce(weft::in_place, std::span(&value, 1), weft::sum));
        requests[7].wait();
        co_await weft::when_all(requests);
        for (const Request& request : requests) EXPECT(!request);
        for (std::int64_t value : values) EXPECT(value == sum_of(0));
    }
}

void requests() { weft::run(await_requests(Communicator::world())); }

Task<> await_barrier(const Communicator& world) { co_await world.ibarrier(); }

struct Spent {
    double cpu_s;  // of all threads
    long sleeps;
};
Spent spent() {
    rusage used{};
    EXPECT(getrusage(RUSAGE_SELF, &used) == 0);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_nvcsw};
}

// No busy loop waits for rank 1.
void sleeps() {
    const Communicator world = Communicator::world();
    weft::run(await_barrier(world));
    if (world_rank == 1) usleep(500'000);
    const Spent before = spent();
    weft::run(await_barrier(world));
    const Spent after = spent();
    EXPECT(after.cpu_s - before.cpu_s < 0.1);
    EXPECT(after.sleeps - before.sleeps < 500);
}

// The same without coroutines.
void queue() {
    const Communicator world = Communicator::world();
    weft::CompletionQueue made;
    weft::CompletionQueue queue(std::move(made));
    made = weft::CompletionQueue();
    EXPECT(!queue.next() && !queue.wait_for(milliseconds(1)));
    EXPECT(std::strcmp(weft_last_detail(),
                       "no pending request is marked (weft_completion_wait_until)") == 0);
    std::vector<Request> barriers(3);
    for (std::size_t i = 0; i < barriers.size(); ++i) {
        barriers[i] = world.ibarrier();
        queue.notify(barriers[i], i);
    }
    for (std::size_t seen = 0; seen < barriers.size(); ++seen) {
        const auto completed = queue.wait_until(steady_clock::now() + milliseconds(60'000));
        EXPECT(completed && completed->status == WEFT_OK && barriers[completed->cookie].test());
    }
    EXPECT(!queue.next());
    try {
        (void)queue.descriptor();
        EXPECT(!is_manual());
    } catch (const weft::Error& error) {
        EXPECT(is_manual() && error.code() == WEFT_REFUSED_UNSUPPORTED);
    }
}

// --- Tasks ---------------------------------------------------------------------------------------

Task<std::string> several_sums(const Communicator& comm, int rounds) {
    std::string text;
    for (int round = 0; round < rounds; ++round)
        text += std::to_string(co_await sum(comm, round)) + " ";
    co_return text;
}

Task<> in_between(int& steps) {
    ++steps;
    co_return;
}

Task<> side_by_side(const std::vector<Communicator>& comms) {
    std::string expected;
    for (int round = 0; round < 30; ++round) expected += std::to_string(sum_of(round)) + " ";
    // The first on this rank is the last on the other.
    Task<std::string> a = several_sums(comms[static_cast<std::size_t>(world_rank)], 30);
    Task<std::string> b = several_sums(comms[static_cast<std::size_t>(1 - world_rank)], 30);
    int steps = 0;
    Task<> c = in_between(steps);
    co_await weft::when_all(a, b, c);
    EXPECT(a.is_done() && a.get() == expected && b.get() == expected && steps == 1);
    co_await weft::when_all(in_between(steps), in_between(steps));
    EXPECT(steps == 3);
    std::vector<Task<std::int64_t>> many;
    for (std::size_t i = 2; i < comms.size(); ++i)
        many.push_back(sum(comms[i], static_cast<std::int64_t>(i)));
    co_await weft::when_all(std::span(many));
    for (std::size_t i = 2; i < comms.size(); ++i)
        EXPECT(many[i - 2].get() == sum_of(static_cast<std::int64_t>(i)));
}

void tasks() {
    std::vector<Communicator> comms;
    for (int i = 0; i < 12; ++i) comms.push_back(Communicator::world().dup());
    weft::run(side_by_side(comms));
}

// --- Deadlines -----------------------------------------------------------------------------------

Task<> give_up(const Communicator& world, const Communicator& gate) {
    if (world_rank == 0) {
        Request late = world.ibarrier(), later = world.ibarrier();
        EXPECT(!co_await weft::until(late, steady_clock::now() + milliseconds(3)));
        EXPECT(!co_await weft::until(late, steady_clock::now() - milliseconds(3)));
        EXPECT(late);
        EXPECT(!co_await weft::when_all(late, later).until(steady_clock::now() + milliseconds(3)));
        co_await gate.ibarrier();
        EXPECT(
            co_await weft::when_all(late, later).until(steady_clock::now() + milliseconds(60'000)));
        EXPECT(!late && !later);
    } else {
        co_await gate.ibarrier();
        Request late = world.ibarrier(), later = world.ibarrier();
        co_await late;
        EXPECT(co_await weft::until(later, steady_clock::time_point::max()));
    }
}

// Each waits for its own deadline while the others do.
Task<> one_deadline(const Communicator& comm, int ms, std::vector<int>& passed) {
    Request never = comm.ibarrier();
    EXPECT(!co_await weft::until(never, steady_clock::now() + milliseconds(ms)));
    passed.push_back(ms);
    co_await never;
}

Task<> deadlines_in_order(const std::vector<Communicator>& comms) {
    std::vector<int> passed;
    Task<> a = one_deadline(comms[0], 30, passed), b = one_deadline(comms[1], 10, passed),
           c = one_deadline(comms[2], 20, passed);
    Task<> opens = [](const std::vector<Communicator>& all, std::vector<int>& seen) -> Task<> {
        Request gate = all[3].ibarrier();
        while (seen.size() < 3)
            (void)co_await weft::until(gate, steady_clock::now() + milliseconds(5));
        EXPECT((seen == std::vector<int>{10, 20, 30}));
        co_await gate;
    }(comms, passed);
    co_await weft::when_all(a, b, c, opens);
}

// Awaited again, or started twice, a task would continue in the middle of its own await.
Task<> awaits_once(const Communicator& world) {
    Task<std::int64_t> begun = sum(world, 1);
    (void)co_await begun;
    Task<std::int64_t> twice = sum(world, 2);
    weft_status refused = WEFT_OK;
    try {
        co_await weft::when_all(twice, twice);
    } catch (const weft::Error& error) {
        refused = error.code();
    }
    EXPECT(refused == WEFT_REFUSED_STATE);
}

// Its loop looks only when the deadline has passed, too.
Task<> completes_before_its_deadline(const Communicator& world) {
    Request request = world.ibarrier();
    EXPECT(co_await weft::until(request, steady_clock::now() + milliseconds(20)));
    EXPECT(!request);
}

void late_loop(const Communicator& world) {
    weft::Loop loop;
    world.barrier();
    Task<> task = completes_before_its_deadline(world);
    loop.start(task);
    usleep(100'000);
    while (!task.is_done()) loop.poll();
    task.get();
}

void deadlines() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    weft::run(give_up(world, gate));
    weft::run(awaits_once(world));
    late_loop(world);
    std::vector<Communicator> comms;
    for (int i = 0; i < 4; ++i) comms.push_back(world.dup());
    if (world_rank == 0) {
        weft::run(deadlines_in_order(comms));
    } else {
        // Rank 0 waits for all of them until its deadlines have passed.
        usleep(60'000);
        for (const Communicator& comm : comms) comm.barrier();
    }
}

// --- Exceptions ----------------------------------------------------------------------------------

Task<int> throws(const Communicator& comm) {
    co_await comm.ibarrier();
    throw std::runtime_error("of a task");
}

Task<> gets_exceptions(const Communicator& world) {
    try {
        (void)co_await throws(world);
        EXPECT(!"reached");
    } catch (const std::runtime_error& error) {
        EXPECT(std::strcmp(error.what(), "of a task") == 0);
    }
    Task<int> first = throws(world);
    bool caught = false;
    try {
        co_await weft::when_all(first);
    } catch (const std::runtime_error&) {
        caught = true;
    }
    EXPECT(caught);
    Request request = world.ibarrier();
    caught = false;
    try {
        co_await weft::when_all(request, request);
    } catch (const weft::Error& error) {
        caught = error.code() == WEFT_REFUSED_ARGUMENT;
    }
    EXPECT(caught);
    co_await request;
    // An operation that throws breaks its communicator; the other rank hears of it.
    const Communicator broken = world.dup();
    const weft::Operation<double> bad([](double, double) -> double { throw 1; },
                                      weft::Operands::in_any_order);
    double value = 1;
    caught = false;
    try {
        co_await broken.iallreduce(weft::in_place, std::span(&value, 1), bad);
    } catch (const weft::Error& error) {
        caught = error.code() == WEFT_BROKEN_FUNCTION;
    }
    EXPECT(caught);
    co_await world.ibarrier();
}

void exceptions() {
    weft::run(gets_exceptions(Communicator::world()));
    bool caught = false;
    try {
        weft::run(throws(Communicator::world()));
    } catch (const std::runtime_error&) {
        caught = true;
    }
    EXPECT(caught);
    // An interruption ends the run, and the coroutine that waits. Rank 1 comes after that.
    const Communicator world = Communicator::world(), gate = world.dup();
    if (world_rank == 0) {
        Request request = gate.ibarrier();
        caught = false;
        weft_interrupt();
        try {
            weft::run([](Request& never) -> Task<> { co_await never; }(request));
        } catch (const weft::Error& error) {
            caught = error.code() == WEFT_INTERRUPTED;
        }
        EXPECT(caught);
        world.barrier();
        request.wait();
    } else {
        world.barrier();
        gate.barrier();
    }
}

// --- Allocations ---------------------------------------------------------------------------------

Task<> counts_allocations(const Communicator& world, long& count) {
    std::int64_t value = 1;
    Request persistent = world.barrier_init();
    const auto round = [&]() -> Task<> {
        Request request = world.iallreduce(weft::in_place, std::span(&value, 1), weft::sum);
        co_await request;
        co_await weft::until(request = world.ibarrier(),
                             steady_clock::now() + milliseconds(60'000));
        persistent.start();
        Request other = world.ibarrier();
        co_await weft::when_all(persistent, other);
    };
    // The schedules are built, and two operations are in flight at once.
    for (int i = 0; i < 20; ++i) co_await round();
    // A transport may once need more memory than before, when ranks are less in step.
    count = std::numeric_limits<long>::max();
    for (int batch = 0; batch < 10; ++batch) {
        const long before = allocations;
        for (int i = 0; i < 100; ++i) co_await round();
        count = std::min(count, allocations - before);
    }
}

void allocate() {
    long count = 0;
    weft::test::counting = true;
    weft::run(counts_allocations(Communicator::world(), count));
    EXPECT(count == 100);  // the frames of 100 coroutines
}

// --- An executor of the program's -----------------------------------------------------------------

// An event loop: coroutines become its events.
class Events final : public weft::Resumer {
  public:
    void resume(std::coroutine_handle<> ready) override { ready_.push_back(ready); }
    bool run_one() {
        if (ready_.empty()) return false;
        const std::coroutine_handle<> next = ready_.front();
        ready_.pop_front();
        next.resume();
        return true;
    }

  private:
    std::deque<std::coroutine_handle<>> ready_;
};

void executor() {
    Events events;
    weft::Loop loop(events);
    bool caught = false;
    try {
        loop.run(await_requests(Communicator::world()));
    } catch (const weft::Error& error) {
        caught = error.code() == WEFT_REFUSED_STATE;
    }
    EXPECT(caught);
    const Communicator world = Communicator::world();
    Task<> task = await_requests(world);
    loop.start(task);
    while (!task.is_done()) {
        if (events.run_one()) continue;
        if (is_manual()) {
            loop.wait();
        } else if (loop.poll() == 0) {
            pollfd polled{loop.descriptor(), POLLIN, 0};
            EXPECT(poll(&polled, 1, 50'000) == 1);
        }
    }
    task.get();
}

// --- Threads -------------------------------------------------------------------------------------

void threads() {
    std::vector<Communicator> comms;
    for (int i = 0; i < 4; ++i) comms.push_back(Communicator::world().dup());
    std::vector<std::thread> running;
    for (const Communicator& comm : comms)
        running.emplace_back([&] { weft::run(await_requests(comm)); });
    for (std::thread& thread : running) thread.join();
}

// --- Destruction ---------------------------------------------------------------------------------

Task<> waits_for(Request& request) { co_await request; }
Task<> awaits(Task<>& task) { co_await task; }
Task<> awaits_both(Task<>& one, Task<>& other) { co_await weft::when_all(one, other); }

// What is awaited goes on, or stands still, alone.
void awaiting_is_destroyed(const Communicator& world, const Communicator& gate) {
    constexpr int barriers = 4;
    if (world_rank == 1) {
        gate.barrier();
        for (int i = 0; i < barriers; ++i) world.barrier();
        return;
    }
    std::vector<Request> requests;
    for (int i = 0; i < barriers; ++i) requests.push_back(world.ibarrier());
    std::vector<Task<>> tasks;
    for (Request& request : requests) tasks.push_back(waits_for(request));
    {
        weft::Loop loop;
        loop.start(tasks[3]);
    }
    weft::Loop loop;
    {
        Task<> one = awaits(tasks[0]);
        Task<> both = awaits_both(tasks[1], tasks[2]);
        loop.start(one);
        loop.start(both);
    }
    gate.barrier();
    while (!tasks[0].is_done() || !tasks[1].is_done() || !tasks[2].is_done()) loop.wait();
    requests[3].wait();
    EXPECT(!tasks[3].is_done());
}

void destroyed() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    if (world_rank == 1) {
        gate.barrier();
        world.barrier();
        return awaiting_is_destroyed(world, gate);
    }
    Request request = world.ibarrier();
    weft::Loop loop;
    {
        Task<> task = waits_for(request);
        loop.start(task);
        EXPECT(!task.is_done() && loop.poll() == 0);
    }
    {
        Task<> task = [](Request& later) -> Task<> {
            (void)co_await weft::until(later, steady_clock::now() + milliseconds(60'000));
        }(request);
        loop.start(task);
        EXPECT(loop.deadline());
    }
    EXPECT(!loop.deadline());
    gate.barrier();
    request.wait();
    EXPECT(loop.poll() == 0);
    // The loop goes on.
    Request other = Communicator::self().ibarrier();
    loop.run(waits_for(other));
    awaiting_is_destroyed(world, gate);
}

}  // namespace

int main(int, char** arguments) try {
    const std::string part = arguments[1];
    const weft::Environment environment;
    world_rank = Communicator::world().rank();
    world_size = Communicator::world().size();
    run_here_or_beside_fibers([&] {
        if (part == "requests") requests();
        if (part == "sleeps") sleeps();
        if (part == "queue") queue();
        if (part == "tasks") tasks();
        if (part == "deadlines") deadlines();
        if (part == "exceptions") exceptions();
        if (part == "allocations") allocate();
        if (part == "executor") executor();
        if (part == "threads") threads();
        if (part == "destroyed") destroyed();
    });
    Communicator::world().barrier();
} catch (const weft::Error& error) {
    return std::fprintf(stderr, "rank %d: %s\n", world_rank, error.what()), 1;
}
