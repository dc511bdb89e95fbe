// Collectives in the fibers of Boost.Fiber: one that waits is suspended alone, while the others compute. An algorithm of
// Boost's that asks Weft when it switches and when no fiber can run, and five short functions, are all that
// weft/scheduler.h needs. (Weft has fibers of its own: weft/fiber.hpp.)
#include <weft/scheduler.h>
#include <weft/weft.hpp>

#include <algorithm>
#include <boost/fiber/all.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>
#include <thread>
#include <vector>

namespace {

using boost::fibers::context;
using Clock = std::chrono::steady_clock;

// Boost's dispatcher is a context of its own, which has its turn among the fibers.
bool is_dispatcher(const context& one) {
    return one.is_context(boost::fibers::type::dispatcher_context);
}

class Algorithm final : public boost::fibers::algo::round_robin {
  public:
    // A fiber that is being suspended is still active here, and must not be resumed yet: Weft is asked by the
    // dispatcher alone.
    context* pick_next() noexcept override {
        if (is_dispatcher(*context::active())) weft_scheduler_poll();
        return round_robin::pick_next();
    }
    // No fiber can run before `deadline`, unless a wait in Weft ends.
    void suspend_until(const Clock::time_point& deadline) noexcept override {
        if (deadline == Clock::time_point::max()) {
            if (weft_scheduler_sleep() != WEFT_OK)
                round_robin::suspend_until(deadline);  // none waits in Weft
            return;
        }
        weft_scheduler_look();
        if (!has_ready_fibers())
            std::this_thread::sleep_until(
                std::min(deadline, Clock::now() + std::chrono::microseconds(50)));
    }
};

// While it exists, calls of Weft suspend the fiber that makes them.
class Attached {
  public:
    Attached() { weft_scheduler_attach(&functions_); }
    ~Attached() { weft_scheduler_detach(); }
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;

  private:
    static void* current(void*) {
        context* const active = context::active();
        return is_dispatcher(*active) ? nullptr : active;
    }
    static void suspend(void*) { context::active()->suspend(); }
    static void resume(void*, void* fiber) {
        context::active()->schedule(static_cast<context*>(fiber));
    }
    static void yield(void*) { boost::this_fiber::yield(); }
    static int spawn(void*, void (*function)(void*), void* argument) {
        try {
            boost::fibers::fiber(function, argument).detach();
            return 1;
        } catch (const std::exception&) {
            return 0;
        }
    }

    const weft_scheduler functions_ = {current, suspend, resume, yield, spawn, nullptr};
};

}  // namespace

int main() try {
    constexpr int workers = 4;
    constexpr int steps = 50;
    boost::fibers::use_scheduling_algorithm<Algorithm>();
    const weft::Environment environment;
    const Attached attached;
    const weft::Communicator world = weft::Communicator::world();
    std::vector<weft::Communicator> own;
    for (int i = 0; i < workers; ++i) own.push_back(world.dup());

    int left = workers;
    int wrong = 0;
    std::vector<boost::fibers::fiber> fibers;
    for (int i = 0; const weft::Communicator& comm : own) {
        fibers.emplace_back([&left, &wrong, &comm, i] {
            for (int step = 0; step < steps; ++step) {
                double sum = i + step;
                comm.allreduce(weft::in_place, std::span(&sum, 1), weft::sum);
                wrong += sum != (i + step) * comm.size();
            }
            --left;
        });
        ++i;
    }
    // Has its turn while the others wait.
    long turns = 0;
    boost::fibers::fiber computation([&] {
        while (left > 0) {
            ++turns;
            boost::this_fiber::yield();
        }
    });
    // Sleeps by Boost's means meanwhile.
    boost::fibers::fiber sleeper(
        [] { boost::this_fiber::sleep_for(std::chrono::milliseconds(2)); });
    for (boost::fibers::fiber& fiber : fibers) fiber.join();
    computation.join();
    // Now no fiber can run but by a message.
    world.barrier();
    sleeper.join();
    std::printf("rank %d: %d wrong sums, %ld turns of a computation\n", world.rank(), wrong, turns);
    return wrong == 0 && turns > 0 ? 0 : 1;
} catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
