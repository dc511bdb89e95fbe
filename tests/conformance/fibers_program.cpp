// Ranks whose computations are fibers; the page docs/fibers.md says what must hold. The argument: which part. Ends with
// status 1 and a sentence when something does not hold.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/in_fibers.h"
#include "conformance/rank_expect.h"
#include "support/counting_new.h"
#include "support/random/public_calls.h"
#include "support/random/rank_run.h"
#include "support/random/watchdog.h"
#include "weft/fiber.hpp"

namespace {

using weft::fibers::Fiber;
using weft::fibers::Options;
using weft::fibers::spawn;
using weft::fibers::yield;

constexpr std::size_t small_stack = 64 * 1024;

std::int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// What every rank contributes, added up.
std::int64_t sum_of_ranks(std::int64_t each) {
    return world_size * (world_size - 1) / 2 + world_size * each;
}

std::int64_t allreduced(weft_comm comm, std::int64_t value) {
    EXPECT(weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT64, WEFT_SUM, comm) == WEFT_OK);
    return value;
}

void join_all(std::vector<Fiber>& fibers) {
    for (Fiber& fiber : fibers) fiber.join();
    fibers.clear();
}

// --- Without Weft ----------------------------------------------------------------------------------

struct Counted {
    static inline int alive = 0;
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() { --alive; }
};

// First come, first served; spawned ones behind those that are ready.
void order(weft_comm) {
    std::string seen;
    const int result = weft::fibers::run([&] {
        EXPECT(weft::fibers::is_inside());
        std::vector<Fiber> fibers;
        for (const char name : {'a', 'b', 'c'}) {
            fibers.push_back(spawn([&seen, name] {
                for (int i = 0; i < 3; ++i) {
                    seen += name;
                    yield();
                }
            }));
        }
        EXPECT(seen.empty());
        yield();
        EXPECT(seen == "abc");
        fibers.push_back(spawn([&] { seen += 'd'; }));
        join_all(fibers);
        EXPECT(seen == "abcabcdabc");
        return 7;
    });
    EXPECT(result == 7 && !weft::fibers::is_inside());
    // The next run() of a thread finds its stacks again: what was touched is in memory.
    unsigned char is_in_memory = 0;
    for (int i = 0; i < 2; ++i) {
        weft::fibers::run([&] {
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
            auto* const deep = reinterpret_cast<char*>((here - 16 * page) / page * page);
            EXPECT(mincore(deep, page, &is_in_memory) == 0);
            *const_cast<volatile char*>(deep) = 1;
        });
    }
    EXPECT((is_in_memory & 1) != 0);
    // Fibers that nobody joins end before run() returns.
    int ended = 0;
    weft::fibers::run([&] {
        for (int i = 0; i < 10; ++i) {
            spawn([&ended, i] {
                for (int j = 0; j < i; ++j) yield();
                ++ended;
            }).detach();
        }
    });
    EXPECT(ended == 10);
    // A handle waits at its end, also in another fiber; what a fiber holds goes when it ends.
    weft::fibers::run([&, counted = Counted()] {
        bool is_done = false;
        {
            Fiber inner = spawn([&is_done, more = Counted()] {
                yield();
                is_done = true;
            });
            Fiber waits = spawn([&inner] { inner.join(); });
        }
        EXPECT(is_done && Counted::alive == 2);
    });
    EXPECT(Counted::alive == 0);
    Fiber outlives = weft::fibers::run([] { return spawn([] {}); });
    EXPECT(outlives.is_joinable());
    outlives.join();
    // A join that is refused changes nothing.
    weft::fibers::run([] {
        bool may_end = false;
        Fiber waits = spawn([&] {
            while (!may_end) yield();
        });
        bool is_refused = false;
        std::thread([&] {
            try {
                waits.join();
            } catch (const std::logic_error&) {
                is_refused = true;
            }
        }).join();
        EXPECT(is_refused && waits.is_joinable());
        may_end = true;
        waits.join();
        EXPECT(!waits.is_joinable());
    });
    // Outside of fibers.
    yield();
    EXPECT(weft::fibers::counts().switches == 0);
    bool refused = false;
    try {
        spawn([] {}).detach();
    } catch (const std::logic_error&) {
        refused = true;
    }
    EXPECT(refused);
    EXPECT(weft_scheduler_attach(nullptr) == WEFT_REFUSED_ARGUMENT);
    for (const auto call :
         {weft_scheduler_poll, weft_scheduler_look, weft_scheduler_sleep, weft_scheduler_detach})
        EXPECT(call() == WEFT_REFUSED_STATE);
    EXPECT(weft_scheduler_signal(SIGURG) == WEFT_REFUSED_STATE);
    weft::fibers::run([] {
        EXPECT(weft_scheduler_sleep() == WEFT_REFUSED_STATE);
        const auto nothing = [](void*) {};
        const weft_scheduler second = {
            .current = [](void*) -> void* { return nullptr; },
            .suspend = nothing,
            .resume = [](void*, void*) {},
            .yield = nothing,
            .spawn = nullptr,
            .state = nullptr,
        };
        EXPECT(weft_scheduler_attach(&second) == WEFT_REFUSED_STATE);
        bool nested = false;
        try {
            weft::fibers::run([] {});
        } catch (const std::logic_error&) {
            nested = true;
        }
        EXPECT(nested);
    });
    // Each thread runs its own.
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([] {
            int turns = 0;
            weft::fibers::run([&] {
                std::vector<Fiber> fibers;
                for (int i = 0; i < 20; ++i) {
                    fibers.push_back(spawn([&turns] {
                        for (int k = 0; k < 100; ++k, ++turns) yield();
                    }));
                }
                join_all(fibers);
            });
            EXPECT(turns == 2000);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void throw_number(int number) { throw number; }

// Each fiber handles its own, while others throw and catch theirs.
void exceptions(weft_comm) {
    weft::fibers::run([] {
        std::vector<Fiber> fibers;
        for (int i = 0; i < 20; ++i) {
            fibers.push_back(spawn([i] {
                for (int round = 0; round < 10; ++round) {
                    try {
                        throw_number(i);
                    } catch (int outer) {
                        yield();
                        try {
                            throw_number(outer + 100);
                        } catch (int inner) {
                            yield();
                            EXPECT(inner == i + 100);
                        }
                        yield();
                        EXPECT(outer == i && std::current_exception() != nullptr);
                        try {
                            throw;
                        } catch (int again) {
                            EXPECT(again == i);
                        }
                    }
                    EXPECT(std::current_exception() == nullptr);
                    struct YieldsWhileUnwinding {
                        ~YieldsWhileUnwinding() {
                            EXPECT(std::uncaught_exceptions() == 1);
                            yield();
                            EXPECT(std::uncaught_exceptions() == 1);
                        }
                    };
                    try {
                        YieldsWhileUnwinding yields;
                        throw_number(i);
                    } catch (int caught) {
                        EXPECT(caught == i && std::uncaught_exceptions() == 0);
                    }
                    yield();
                    EXPECT(std::uncaught_exceptions() == 0);
                }
            }));
        }
        join_all(fibers);
        // They leave a fiber by join().
        Fiber throws = spawn([] { throw std::runtime_error("thrown in a fiber"); });
        std::string what;
        try {
            throws.join();
        } catch (const std::runtime_error& error) {
            what = error.what();
        }
        EXPECT(what == "thrown in a fiber" && !throws.is_joinable());
    });
    int caught = 0;
    try {
        weft::fibers::run([] { throw_number(5); });
    } catch (int number) {
        caught = number;
    }
    EXPECT(caught == 5);
}

// --- Ends of the process, which the test looks at --------------------------------------------------

int deep(int depth) {
    volatile char frame[1000];
    frame[0] = static_cast<char>(depth);
    if (depth > 1'000'000) return 0;
    return deep(depth + 1) + frame[0];
}

void overflow(weft_comm) {
    weft::fibers::run([] {
        Fiber fine = spawn([] { yield(); });
        Fiber overflows = spawn([] { EXPECT(deep(0) == -1); }, {.stack_bytes = small_stack});
    });
}

void bad_pointer(weft_comm) {
    weft::fibers::run([] {
        void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *static_cast<volatile int*>(nowhere) = 1;
    });
}

// A handler of the program's that calls the one before it, set inside of run() and never taken away.
struct sigaction handler_before;
void call_handler_before(int signal, siginfo_t* info, void* context) {
    static int calls = 0;
    if (++calls > 1) _exit(3);
    handler_before.sa_sigaction(signal, info, context);
}
void set_own_handler() {
    weft::fibers::run([] {
        struct sigaction own {};
        own.sa_sigaction = call_handler_before;
        own.sa_flags = SA_SIGINFO | SA_ONSTACK;
        EXPECT(sigaction(SIGSEGV, &own, &handler_before) == 0);
        EXPECT(handler_before.sa_flags & SA_SIGINFO);
    });
    // Runs whose handlers come and go.
    for (int i = 0; i < 20; ++i) weft::fibers::run([] {});
}
void bad_pointer_with_own_handler(weft_comm world) {
    set_own_handler();
    bad_pointer(world);
}
void overflow_with_own_handler(weft_comm world) {
    set_own_handler();
    overflow(world);
}

void uncaught(weft_comm) {
    weft::fibers::run(
        [] { spawn([] { throw std::runtime_error("nobody catches this"); }).detach(); });
}

void deadlock(weft_comm) {
    weft::fibers::run([] {
        Fiber first;
        Fiber second = spawn([&] { first.join(); });
        first = spawn([&] { second.join(); });
        yield();
    });
}

// --- With Weft -------------------------------------------------------------------------------------

// Everything that waits, on a communicator of this fiber.
void use(weft_comm own, int fiber) {
    for (int round = 0; round < 10; ++round) {
        EXPECT(allreduced(own, world_rank + fiber + round) == sum_of_ranks(fiber + round));
        // A loop of tests.
        std::int64_t value = world_rank == 0 ? fiber * 1000 + round : -1;
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_ibcast(&value, 1, WEFT_INT64, 0, own, &request) == WEFT_OK);
        weft_status tested;
        while ((tested = weft_test(&request)) == WEFT_PENDING) {
        }
        EXPECT(tested == WEFT_OK && value == fiber * 1000 + round);
        // Several requests, in any order.
        constexpr std::size_t several = 5;
        std::int64_t values[several];
        weft_request requests[several];
        for (std::size_t i = 0; i < several; ++i) {
            values[i] = world_rank;
            EXPECT(weft_iallreduce(WEFT_IN_PLACE, &values[i], 1, WEFT_INT64, WEFT_SUM, own,
                                   &requests[i]) == WEFT_OK);
        }
        for (int ended = 0; ended < 3; ++ended) {
            std::size_t index = WEFT_NONE;
            EXPECT(weft_waitany(several, requests, &index) == WEFT_OK && index < several);
            EXPECT(values[index] == sum_of_ranks(0));
        }
        EXPECT(weft_waitall(several, requests, nullptr) == WEFT_OK);
        for (const std::int64_t one : values) EXPECT(one == sum_of_ranks(0));
        // A large one.
        std::vector<std::int64_t> block(round == 0 ? 100'000u : 100u, world_rank + fiber);
        EXPECT(weft_allreduce(WEFT_IN_PLACE, block.data(), block.size(), WEFT_INT64, WEFT_SUM,
                              own) == WEFT_OK);
        for (const std::int64_t one : block) EXPECT(one == sum_of_ranks(fiber));
    }
    // A constructor, and a queue.
    weft_comm half = WEFT_COMM_NULL;
    EXPECT(weft_comm_split(own, world_rank % 2, 0, &half) == WEFT_OK);
    int ranks = 0;
    EXPECT(weft_comm_size(half, &ranks) == WEFT_OK &&
           ranks == (world_size + 1 - world_rank % 2) / 2);
    EXPECT(allreduced(half, 1) == ranks);
    EXPECT(weft_comm_free(&half) == WEFT_OK);
    weft_completion_queue queue;
    weft_request request = WEFT_REQUEST_NULL;
    std::uint64_t cookie = 0;
    weft_status status = WEFT_PENDING;
    EXPECT(weft_completion_queue_create(&queue) == WEFT_OK);
    EXPECT(weft_ibarrier(own, &request) == WEFT_OK);
    EXPECT(weft_request_notify(request, queue, 5) == WEFT_OK);
    EXPECT(weft_completion_wait_until(queue, &cookie, &status, INT64_MAX) == WEFT_OK);
    EXPECT(cookie == 5 && status == WEFT_OK && weft_wait(&request) == WEFT_OK);
    EXPECT(weft_completion_queue_free(&queue) == WEFT_OK);
}

void communicators(weft_comm world) {
    weft::fibers::run([&] { in_fibers(world, use); });
}

// Waits in another thread beside those in fibers.
void outside(weft_comm world) {
    weft_comm others;
    EXPECT(weft_comm_dup(world, &others) == WEFT_OK);
    std::thread other([&] { use(others, 99); });
    weft::fibers::run([&] { in_fibers(world, use); });
    other.join();
    EXPECT(weft_comm_free(&others) == WEFT_OK);
}

// One communicator for all fibers: the operations are started in one order, and waited for in fibers.
void shared(weft_comm world) {
    weft::fibers::run([&] {
        constexpr std::size_t all = 200;
        std::vector<std::int64_t> values(all, world_rank);
        std::vector<weft_request> requests(all);
        std::vector<Fiber> fibers;
        for (std::size_t i = 0; i < all; ++i) {
            EXPECT(weft_iallreduce(WEFT_IN_PLACE, &values[i], 1, WEFT_INT64, WEFT_SUM, world,
                                   &requests[i]) == WEFT_OK);
            fibers.push_back(spawn([&, i] {
                EXPECT(weft_wait(&requests[i]) == WEFT_OK && values[i] == sum_of_ranks(0));
            }));
        }
        join_all(fibers);
    });
}

// Fibers whose wait has ended run before those that were ready already.
void priority(weft_comm world) {
    weft::fibers::run([&] {
        std::string seen;
        weft_completion_queue queue;
        EXPECT(weft_completion_queue_create(&queue) == WEFT_OK);
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_ibarrier(weft_comm_self(), &request) == WEFT_OK);
        std::vector<Fiber> fibers;
        fibers.push_back(spawn([&] {
            std::uint64_t cookie = 0;
            weft_status status = WEFT_PENDING;
            EXPECT(weft_completion_wait_until(queue, &cookie, &status, INT64_MAX) == WEFT_OK);
            EXPECT(cookie == 7 && status == WEFT_OK);
            seen += 'w';
        }));
        yield();
        for (const char name : {'a', 'b'}) fibers.push_back(spawn([&seen, name] { seen += name; }));
        EXPECT(weft_request_notify(request, queue, 7) == WEFT_OK);
        usleep(1000);  // the scheduler has not looked for a while
        EXPECT(seen.empty());
        yield();
        EXPECT(seen == "wab");
        join_all(fibers);
        EXPECT(weft_wait(&request) == WEFT_OK);
        EXPECT(weft_completion_queue_free(&queue) == WEFT_OK);
    });
    // Others compute while a fiber waits, and do not keep it from going on.
    weft::fibers::run([&] {
        constexpr int computing = 50;
        int turns = 0;
        bool is_over = false;
        std::vector<Fiber> fibers;
        for (int i = 0; i < computing; ++i) {
            fibers.push_back(spawn([&] {
                while (!is_over) {
                    ++turns;
                    yield();
                }
            }));
        }
        for (int round = 0; round < 5; ++round) {
            std::int64_t value = -1;
            if (world_rank == 0) {
                value = round;
                while (turns < computing * (round + 1)) yield();
            }
            EXPECT(weft_bcast(&value, 1, WEFT_INT64, 0, world) == WEFT_OK && value == round);
            EXPECT(weft_barrier(world) == WEFT_OK);
        }
        is_over = true;
        join_all(fibers);
    });
}

double cpu_s(const rusage& usage) {
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Nobody polls while all wait: rank 0 comes late, and the others sleep.
void wait_long(weft_comm world, std::size_t all, unsigned seconds) {
    weft::fibers::run([&] {
        std::vector<std::int64_t> values(all, world_rank == 0 ? 3 : -1);
        std::vector<weft_request> requests(all);
        std::vector<Fiber> fibers;
        EXPECT(weft_barrier(world) == WEFT_OK);
        if (world_rank == 0) sleep(seconds);
        rusage before{};
        getrusage(RUSAGE_SELF, &before);
        rusage all_wait{};
        rusage one_goes_on{};
        bool has_come = false;
        const weft::fibers::Counts counts = weft::fibers::counts();
        for (std::size_t i = 0; i < all; ++i) {
            EXPECT(weft_ibcast(&values[i], 1, WEFT_INT64, 0, world, &requests[i]) == WEFT_OK);
            fibers.push_back(spawn(
                [&, i] {
                    EXPECT(weft_wait(&requests[i]) == WEFT_OK && values[i] == 3);
                    if (!std::exchange(has_come, true)) getrusage(RUSAGE_SELF, &one_goes_on);
                },
                {.stack_bytes = small_stack}));
        }
        yield();  // all but this one wait
        getrusage(RUSAGE_SELF, &all_wait);
        join_all(fibers);
        const weft::fibers::Counts after = weft::fibers::counts();
        rusage spent{};
        getrusage(RUSAGE_SELF, &spent);
        // Each fiber once to wait and once to end, the one that joins, and the root between sleeps.
        EXPECT(after.sleeps - counts.sleeps <= 2 * all);
        EXPECT(after.switches - counts.switches <= 8 * all);
        EXPECT(spent.ru_nvcsw - before.ru_nvcsw < 1000);
        if (world_rank == 0) return;
        const double waiting_s = cpu_s(one_goes_on) - cpu_s(all_wait);
        std::printf("%zu fibers waited %u s: %.4f s of CPU\n", all, seconds, waiting_s);
        EXPECT(waiting_s < 0.05);
    });
}

void ten_thousand(weft_comm world) {
    weft::fibers::run([&] {
        constexpr std::size_t all = 10'000;
        std::vector<std::int64_t> values(all, -1);
        std::vector<weft_request> requests(all);
        std::vector<Fiber> fibers;
        std::size_t begun = 0;
        for (std::size_t i = 0; i < all; ++i) {
            if (world_rank == 0) values[i] = static_cast<std::int64_t>(i);
            fibers.push_back(spawn(
                [&, i] {
                    EXPECT(weft_ibcast(&values[i], 1, WEFT_INT64, 0, world, &requests[i]) ==
                           WEFT_OK);
                    // Rank 0 is the last to send what the others wait for.
                    if (++begun < all && world_rank == 0) {
                        while (begun < all) yield();
                    }
                    EXPECT(weft_wait(&requests[i]) == WEFT_OK);
                    EXPECT(values[i] == static_cast<std::int64_t>(i));
                },
                {.stack_bytes = small_stack}));
        }
        join_all(fibers);
        EXPECT(begun == all);
    });
}

// Deadlines pass while others compute, and while all wait; an interrupt ends one wait.
void ends_of_waits(weft_comm world) {
    weft_comm own;
    EXPECT(weft_comm_dup(world, &own) == WEFT_OK);
    weft::fibers::run([&] {
        for (const bool computes : {true, false}) {
            weft_request request = WEFT_REQUEST_NULL;
            bool is_over = false;
            // The others come when this rank has said that it has given up.
            if (world_rank != 0) {
                EXPECT(weft_barrier(world) == WEFT_OK);
                EXPECT(weft_barrier(own) == WEFT_OK);
                continue;
            }
            EXPECT(weft_ibarrier(own, &request) == WEFT_OK);
            if (world_size > 1) {
                Fiber waits = spawn([&] {
                    EXPECT(weft_wait_until(&request, now() + 20'000'000) == WEFT_TIMED_OUT);
                    is_over = true;
                });
                if (computes) {
                    while (!is_over) yield();
                }
                waits.join();
                int interrupted = 0;
                std::vector<Fiber> fibers;
                for (int i = 0; i < 2; ++i) {
                    fibers.push_back(spawn([&] {
                        const weft_status status = weft_wait_until(&request, now() + 50'000'000);
                        interrupted += status == WEFT_INTERRUPTED;
                        EXPECT(status == WEFT_INTERRUPTED || status == WEFT_TIMED_OUT);
                    }));
                }
                yield();
                weft_interrupt();
                join_all(fibers);
                EXPECT(interrupted == 1);
            }
            EXPECT(weft_barrier(world) == WEFT_OK);
            EXPECT(weft_wait(&request) == WEFT_OK);
        }
    });
    EXPECT(weft_comm_free(&own) == WEFT_OK);
}

// Functions that Weft calls do not let other fibers run.
int called = 0;
void add(const void* in, void* inout, size_t count, weft_type, void*) {
    ++called;
    const weft::fibers::Counts before = weft::fibers::counts();
    yield();
    EXPECT(weft::fibers::counts().switches == before.switches);
    for (size_t i = 0; i < count; ++i)
        static_cast<std::int64_t*>(inout)[i] += static_cast<const std::int64_t*>(in)[i];
}
void functions(weft_comm world) {
    weft_op op = WEFT_OP_NULL;
    EXPECT(weft_op_create_confined(add, 1, nullptr, &op) == WEFT_OK);
    weft::fibers::run([&] {
        bool is_over = false;
        Fiber computes = spawn([&] {
            while (!is_over) yield();
        });
        for (int round = 0; round < 10; ++round) {
            std::int64_t value = world_rank + round;
            EXPECT(weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT64, op, world) == WEFT_OK);
            EXPECT(value == sum_of_ranks(round));
        }
        is_over = true;
        computes.join();
    });
    EXPECT(allreduced(world, called) > 0 || world_size == 1);
    EXPECT(weft_op_free(&op) == WEFT_OK);
}

// --- Functions of schedules ------------------------------------------------------------------------

// One of a schedule's functions: waits on a communicator of its own.
struct Waits {
    weft_comm comm = WEFT_COMM_NULL;
    std::int64_t got = -1;
    int calls = 0;
    bool was_inside = false;

    static void call(void* data, std::size_t bytes, void* context) {
        auto& self = *static_cast<Waits*>(context);
        std::int64_t value = 0;
        EXPECT(bytes == sizeof value);
        std::memcpy(&value, data, sizeof value);
        self.was_inside = weft::fibers::is_inside();
        self.got = allreduced(self.comm, value);
        std::memcpy(data, &self.got, sizeof self.got);
        ++self.calls;
    }
};

weft_region element(weft_buffer buffer, std::int64_t at) { return {buffer, at * 8, 8}; }

// A function of a schedule around the ring may wait, while other fibers compute and other functions wait.
void schedules(weft_comm world, int rounds) {
    constexpr int functions = 3;
    std::vector<Waits> waits(functions);
    for (Waits& one : waits) EXPECT(weft_comm_dup(world, &one.comm) == WEFT_OK);
    // Of each element: from the left, summed over all ranks by a function, to the right.
    weft_schedule schedule = WEFT_SCHEDULE_NULL;
    EXPECT(weft_schedule_create(world, &schedule) == WEFT_OK);
    const int right = (world_rank + 1) % world_size;
    const int left = (world_rank + world_size - 1) % world_size;
    for (std::int64_t i = 0; i < functions; ++i) {
        weft_node got, summed, sent;
        EXPECT(weft_schedule_send(schedule, element(WEFT_SEND_BUFFER, i), right, nullptr) ==
               WEFT_OK);
        EXPECT(weft_schedule_recv(schedule, element(WEFT_RECV_BUFFER, i), left, &got) == WEFT_OK);
        EXPECT(weft_schedule_call(schedule, element(WEFT_RECV_BUFFER, i), Waits::call,
                                  &waits[static_cast<std::size_t>(i)], &summed) == WEFT_OK);
        EXPECT(weft_schedule_after(schedule, summed, got) == WEFT_OK);
        EXPECT(weft_schedule_send(schedule, element(WEFT_RECV_BUFFER, i), right, &sent) == WEFT_OK);
        EXPECT(weft_schedule_after(schedule, sent, summed) == WEFT_OK);
        EXPECT(weft_schedule_recv(schedule, element(WEFT_RECV_BUFFER, functions + i), left,
                                  nullptr) == WEFT_OK);
    }
    EXPECT(weft_schedule_seal(schedule) == WEFT_OK);
    EXPECT(weft_schedule_check(schedule) == WEFT_OK);
    std::int64_t mine[functions];
    std::int64_t theirs[2 * functions];
    weft_request request = WEFT_REQUEST_NULL;
    EXPECT(weft_schedule_init(schedule, mine, theirs, WEFT_INT64, WEFT_OP_NULL, &request) ==
           WEFT_OK);
    weft::fibers::run([&] {
        bool is_over = false;
        Fiber computes = spawn([&] {
            while (!is_over) yield();
        });
        for (int round = 0; round < rounds; ++round) {
            for (int i = 0; i < functions; ++i) mine[i] = world_rank + 100 * i + round;
            EXPECT(weft_start(&request) == WEFT_OK);
            EXPECT(weft_wait(&request) == WEFT_OK);
            for (int i = 0; i < functions; ++i) {
                const std::int64_t sum = sum_of_ranks(100 * i + round);
                EXPECT(theirs[i] == sum && theirs[functions + i] == sum);
                const Waits& one = waits[static_cast<std::size_t>(i)];
                EXPECT(one.calls == round + 1 && one.was_inside);
            }
        }
        is_over = true;
        computes.join();
        EXPECT(weft::fibers::counts().spawned == 2u + static_cast<unsigned>(functions * rounds));
    });
    for (Waits& one : waits) EXPECT(weft_comm_free(&one.comm) == WEFT_OK);
    EXPECT(weft_request_free(&request) == WEFT_OK);
    EXPECT(weft_schedule_free(&schedule) == WEFT_OK);
}

// A schedule of these functions alone, one after the other.
weft_request request_of(weft_comm comm, std::initializer_list<weft_schedule_function> functions,
                        void* context) {
    weft_schedule schedule = WEFT_SCHEDULE_NULL;
    EXPECT(weft_schedule_create(comm, &schedule) == WEFT_OK);
    weft_node last = WEFT_NODE_NONE;
    for (const weft_schedule_function function : functions) {
        weft_node node;
        EXPECT(weft_schedule_call(schedule, {WEFT_SCRATCH, 0, 0}, function, context, &node) ==
               WEFT_OK);
        EXPECT(weft_schedule_after(schedule, node, last) == WEFT_OK);
        last = node;
    }
    EXPECT(weft_schedule_seal(schedule) == WEFT_OK);
    weft_request request = WEFT_REQUEST_NULL;
    EXPECT(weft_schedule_init(schedule, nullptr, nullptr, WEFT_INT64, WEFT_OP_NULL, &request) ==
           WEFT_OK);
    EXPECT(weft_schedule_free(&schedule) == WEFT_OK);
    return request;
}

// A group breaks while functions of its schedules wait: their operations end when they have returned.
struct Breaks {
    weft_comm gate = WEFT_COMM_NULL;   // passed when all other ranks wait
    weft_comm other = WEFT_COMM_NULL;  // where they wait, until rank 0 comes
    weft_comm told = WEFT_COMM_NULL;   // passed when all ranks know that the group is broken
    bool is_broken = false;
    int ended = 0;

    static void wait(void*, std::size_t, void* context) {
        auto& self = *static_cast<Breaks*>(context);
        if (world_rank != 0) EXPECT(weft_barrier(self.gate) == WEFT_OK);
        while (world_rank == 0 && !self.is_broken) yield();
        EXPECT(weft_barrier(self.other) == WEFT_OK);
        ++self.ended;
    }
    static void throw_when_all_wait(void*, std::size_t, void* context) {
        EXPECT(weft_barrier(static_cast<Breaks*>(context)->gate) == WEFT_OK);
        throw std::runtime_error("leaves a schedule's function");
    }
    static void never(void*, std::size_t, void*) { EXPECT(!"called"); }
};

void schedules_of_a_broken_group(weft_comm world) {
    weft_comm comm = WEFT_COMM_NULL;
    Breaks breaks;
    for (weft_comm* const made : {&comm, &breaks.gate, &breaks.other, &breaks.told})
        EXPECT(weft_comm_dup(world, made) == WEFT_OK);
    weft_request waits = request_of(comm, {Breaks::wait, Breaks::never}, &breaks);
    weft_request throws = world_rank == 0 ? request_of(comm, {Breaks::throw_when_all_wait}, &breaks)
                                          : request_of(comm, {}, nullptr);
    weft::fibers::run([&] {
        EXPECT(weft_start(&waits) == WEFT_OK);
        EXPECT(weft_start(&throws) == WEFT_OK);
        const weft_status thrown = weft_wait(&throws);
        EXPECT(thrown == WEFT_BROKEN_FUNCTION || (world_rank != 0 && thrown == WEFT_OK));
        if (world_rank != 0) EXPECT(weft_barrier(comm) == WEFT_BROKEN_FUNCTION);
        EXPECT(breaks.ended == 0);
        EXPECT(weft_barrier(breaks.told) == WEFT_OK);
        breaks.is_broken = true;
        EXPECT(weft_wait(&waits) == WEFT_BROKEN_FUNCTION);
        EXPECT(breaks.ended == 1);
    });
    for (weft_request* const request : {&waits, &throws})
        EXPECT(weft_request_free(request) == WEFT_OK);
    for (weft_comm* const made : {&comm, &breaks.gate, &breaks.other, &breaks.told})
        EXPECT(weft_comm_free(made) == WEFT_OK);
}

// Of one rank: when such functions run, and what they may call.
void functions_of_schedules(weft_comm) {
    const weft_comm self = weft_comm_self();
    struct Seen {
        std::string text;
        weft_status called = WEFT_PENDING;
    } seen;
    const auto call = [](void*, std::size_t, void* context) {
        auto& own = *static_cast<Seen*>(context);
        own.text += 'f';
        own.called = weft_barrier(weft_comm_self());
        yield();
        own.text += 'g';
    };
    weft_request request = request_of(self, {call}, &seen);
    weft::fibers::run([&] {
        std::vector<Fiber> fibers;
        for (const char name : {'a', 'b'})
            fibers.push_back(spawn([&seen, name] { seen.text += name; }));
        EXPECT(weft_start(&request) == WEFT_OK);
        usleep(1000);  // the scheduler has not looked for a while
        EXPECT(seen.text.empty());
        yield();
        EXPECT(seen.text == "fab" && seen.called == WEFT_OK);
        EXPECT(weft_wait(&request) == WEFT_OK && seen.text == "fabg");
        join_all(fibers);
        // The fiber, its stack and everything else is used again.
        EXPECT(weft::test::allocations == 0);
        weft::test::counting = true;
        for (int round = 0; round < 100; ++round) {
            seen.text.clear();
            EXPECT(weft_start(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK);
            EXPECT(seen.text == "fg");
        }
        weft::test::counting = false;
        EXPECT(weft::test::allocations == 0);
        // It ends before the function begins.
        seen.text.clear();
        EXPECT(weft_start(&request) == WEFT_OK);
        EXPECT(seen.text.empty());
    });
    // (What runs a function waits for its end: only one that has not begun is left.)
    EXPECT(weft_wait(&request) == WEFT_OK);
    EXPECT(seen.text == "fg" && (seen.called == WEFT_REFUSED_STATE || seen.called == WEFT_OK));
    // Started without fibers, in whatever thread advances operations.
    seen.text.clear();
    EXPECT(weft_start(&request) == WEFT_OK && weft_wait(&request) == WEFT_OK);
    EXPECT(seen.text == "fg" && seen.called == WEFT_REFUSED_STATE);
    EXPECT(weft_request_free(&request) == WEFT_OK);
}

// --- Preemption ------------------------------------------------------------------------------------

bool preempts_on_arrival = false;  // and not by a timer
#if defined(__SANITIZE_THREAD__)
constexpr bool is_preempted = false;
#else
constexpr bool is_preempted = true;
#endif

weft::fibers::Preemption preemption() { return {.slice_us = preempts_on_arrival ? 0u : 100u}; }

// Keeps many registers in use, and depends on every step.
class Computation {
  public:
    void step() {
        for (int i = 0; i < 100; ++i)
            for (double& x : values_) x = 3.9 * x * (1 - x);
        ++steps_;
    }
    // Without interruptions the result is the same.
    bool is_right() const {
        Computation again;
        while (again.steps_ < steps_) again.step();
        return std::memcmp(values_, again.values_, sizeof values_) == 0;
    }

  private:
    double values_[8] = {.1, .2, .3, .4, .51, .6, .7, .8};
    std::int64_t steps_ = 0;
};

// Computes in a preemptible region until another fiber has set the flag; gives up after 30 s.
bool compute_until(const volatile bool& flag) {
    Computation computation;
    const std::int64_t give_up_ns = now() + 30'000'000'000;
    bool is_set = false;
    weft::fibers::preemptible(
        [&] {
            while (!(is_set = flag) && now() < give_up_ns) computation.step();
        },
        preemption());
    EXPECT(computation.is_right());
    return is_set;
}

// A broadcast along a chain passes ranks that compute and never yield.
void relay(weft_comm world) {
    weft::fibers::run([&] {
        if (preempts_on_arrival) weft::fibers::preempt_on_arrival();
        constexpr int rounds = 5;
        for (int round = 0; round < rounds; ++round) {
            const auto sent = static_cast<std::uint8_t>(100 + round);
            std::vector<std::uint8_t> data(64 * 1024, world_rank == 0 ? sent : std::uint8_t{0});
            EXPECT(weft_barrier(world) == WEFT_OK);
            if (world_rank == 0) {
                usleep(20'000);  // the others compute
                EXPECT(weft_bcast(data.data(), data.size(), WEFT_BYTE, 0, world) == WEFT_OK);
                continue;
            }
            bool has_come = false;
            Fiber waits = spawn([&] {
                EXPECT(weft_bcast(data.data(), data.size(), WEFT_BYTE, 0, world) == WEFT_OK);
                has_come = true;
            });
            yield();
            if (is_preempted) EXPECT(compute_until(has_come));
            waits.join();
            for (const std::uint8_t byte : data) EXPECT(byte == sent);
        }
        const weft::fibers::Counts counts = weft::fibers::counts();
        EXPECT(world_rank == 0 || !is_preempted || counts.preemptions > 0);
        EXPECT(counts.interruptions >= counts.preemptions);
        EXPECT(weft_barrier(world) == WEFT_OK);
    });
}

// A computation without slices beside one with: both have the timer in turn.
void slices_differ(weft_comm world) {
    if (!is_preempted) return;
    constexpr int barriers = 5;
    if (world_rank != 0) {
        for (int i = 0; i < barriers; ++i) {
            usleep(2'000);  // rank 0 waits
            EXPECT(weft_barrier(world) == WEFT_OK);
        }
        return;
    }
    weft::fibers::run([&] {
        bool is_over = false;
        Fiber waits = spawn([&] {
            for (int i = 0; i < barriers; ++i) {
                EXPECT(weft_barrier(world) == WEFT_OK);
                weft::fibers::preemptible([] {});
            }
            is_over = true;
        });
        yield();
        bool is_set = false;
        weft::fibers::preemptible(
            [&] {
                const std::int64_t give_up_ns = now() + 30'000'000'000;
                const volatile bool& flag = is_over;
                while (!(is_set = flag) && now() < give_up_ns) {
                }
            },
            {.slice_us = 0});
        EXPECT(is_set);
        waits.join();
    });
}

// Of one rank: what a fiber that is preempted keeps, and what it shares.
void preempted(weft_comm) {
    if (!is_preempted) return;
    sigset_t before;
    sigset_t after;
    sigprocmask(SIG_SETMASK, nullptr, &before);
    weft::fibers::run([] {
        // Two that compute take turns; a third one yields.
        std::string seen;
        bool is_over[2] = {};
        std::vector<Fiber> fibers;
        for (const std::size_t i : {0u, 1u}) {
            fibers.push_back(spawn([&, i] {
                try {
                    throw_number(static_cast<int>(i));
                } catch (int number) {
                    EXPECT(std::fesetround(i == 0 ? FE_UPWARD : FE_DOWNWARD) == 0);
                    errno = 70 + number;
                    // Each ends when the other one has computed, too.
                    if (i == 0) {
                        EXPECT(compute_until(is_over[1]));
                        is_over[0] = true;
                    } else {
                        is_over[1] = true;
                        EXPECT(compute_until(is_over[0]));
                    }
                    EXPECT(errno == 70 + number && std::current_exception() != nullptr);
                    EXPECT(std::fegetround() == (i == 0 ? FE_UPWARD : FE_DOWNWARD));
                }
            }));
        }
        fibers.push_back(spawn([&] {
            for (int round = 0; round < 100; ++round) {
                EXPECT(std::fegetround() == FE_TONEAREST && !std::current_exception());
                errno = 5;
                try {
                    throw_number(round);
                } catch (int) {
                    yield();
                }
            }
            // The thread's mask is everybody's, with the one exception.
            sigset_t usr1;
            sigemptyset(&usr1);
            sigaddset(&usr1, SIGUSR1);
            sigprocmask(SIG_BLOCK, &usr1, nullptr);
        }));
        join_all(fibers);
        sigset_t mask;
        sigprocmask(SIG_SETMASK, nullptr, &mask);
        EXPECT(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGURG) == 1);
        sigdelset(&mask, SIGUSR1);
        sigprocmask(SIG_SETMASK, &mask, nullptr);
        EXPECT(weft::fibers::counts().preemptions > 0);
        // Regions inside of others, with little room, and in functions that Weft calls.
        int calls = 0;
        weft::fibers::preemptible([&] { weft::fibers::preemptible([&] { ++calls; }); });
        bool is_refused = false;
        Fiber small = spawn(
            [&] {
                try {
                    weft::fibers::preemptible([&] { ++calls; });
                } catch (const std::logic_error&) {
                    is_refused = true;
                }
            },
            {.stack_bytes = 16 * 1024});
        small.join();
        EXPECT(calls == 1 && is_refused);
    });
    sigprocmask(SIG_SETMASK, nullptr, &after);
    EXPECT(sigismember(&after, SIGURG) == 0);
    EXPECT(std::memcmp(&before, &after, 8) == 0);
    // Outside of fibers it is merely called, and a signal is nobody's.
    int calls = 0;
    weft::fibers::preemptible([&] { ++calls; });
    EXPECT(raise(SIGURG) == 0 && calls == 1);
}

// Of one rank: the program's own handlers are not preempted, and get their signals.
volatile sig_atomic_t in_own_handler = 0;
volatile sig_atomic_t own_urgent = 0;
void alternate_stack_is_left_alone(int flags) {
    weft::fibers::run([flags] {
        // While one of them runs, on the alternate stack, no other fiber may: it has that stack, and its signal is blocked.
        struct sigaction alarm {};
        alarm.sa_handler = [](int) {
            in_own_handler = 1;
            const std::int64_t end = now() + 1'000'000;
            while (now() < end) {
            }
            in_own_handler = 0;
        };
        alarm.sa_flags = SA_ONSTACK | SA_RESTART | flags;
        EXPECT(sigaction(SIGALRM, &alarm, nullptr) == 0);
        const itimerval often{{0, 3000}, {0, 3000}};
        EXPECT(setitimer(ITIMER_REAL, &often, nullptr) == 0);
        bool is_over = false;
        Fiber computes = spawn([&] { EXPECT(compute_until(is_over)); });
        for (int turns = 0; turns < 200; ++turns) {
            EXPECT(!in_own_handler);
            yield();
        }
        const itimerval never{};
        EXPECT(setitimer(ITIMER_REAL, &never, nullptr) == 0);
        is_over = true;
        computes.join();
        EXPECT(weft::fibers::counts().preemptions >= 200);
    });
}

// A handler in which the thread must stay delays what would take it away, and no more.
void slice_goes_on_after_a_handler() {
    weft::fibers::run([] {
        struct sigaction alarm {};
        alarm.sa_handler = [](int) { raise(SIGURG); };
        EXPECT(sigaction(SIGALRM, &alarm, nullptr) == 0);
        bool is_over = false;
        spawn([&] { is_over = true; }).detach();
        bool is_set = false;
        weft::fibers::preemptible(
            [&] {
                raise(SIGALRM);
                const std::int64_t give_up_ns = now() + 30'000'000'000;
                const volatile bool& flag = is_over;
                while (!(is_set = flag) && now() < give_up_ns) {
                }
            },
            {.slice_us = 20'000});
        EXPECT(is_set);
    });
}

void handlers(weft_comm) {
    if (!is_preempted) return;
    struct sigaction urgent {};
    urgent.sa_handler = [](int) { own_urgent = own_urgent + 1; };
    EXPECT(sigaction(SIGURG, &urgent, nullptr) == 0);
    for (const int flags : {0, SA_NODEFER}) alternate_stack_is_left_alone(flags);
    EXPECT(own_urgent == 0);
    weft::fibers::run([] {
        weft::fibers::preemptible([] { raise(SIGURG); });
        EXPECT(own_urgent == 1);
        EXPECT(raise(SIGURG) == 0);  // it is blocked here
    });
    EXPECT(own_urgent == 2);
    EXPECT(raise(SIGURG) == 0 && own_urgent == 3);
    slice_goes_on_after_a_handler();
    EXPECT(own_urgent == 4);
}

// Where not all ranks are reached by TCP.
void no_arrivals(weft_comm) {
    std::string sentence;
    weft::fibers::run([&] {
        try {
            weft::fibers::preempt_on_arrival();
        } catch (const std::logic_error& error) {
            sentence = error.what();
        }
    });
    EXPECT(sentence.find("sends no signals; expected tcp to all ranks") != std::string::npos);
}

void yields_while_preemptible(weft_comm) {
    weft::fibers::run([] { weft::fibers::preemptible([] { yield(); }); });
}

// A random program in each of eight fibers.
void random_programs(weft_comm world, std::uint64_t first_seed, bool beside_computation) {
    using namespace weft::test::random;
    std::string wrong;
    weft::fibers::run([&] {
        // Another one computes meanwhile, and never yields.
        bool is_over = false;
        Fiber computes;
        if (preempts_on_arrival) weft::fibers::preempt_on_arrival();
        if (beside_computation) computes = spawn([&] { EXPECT(compute_until(is_over)); });
        in_fibers(world,
                  [&](weft_comm own, int number) {
                      Case c;
                      c.transport = "fibers";
                      c.ranks = world_size;
                      c.seed = first_seed + static_cast<std::uint64_t>(number);
                      c.operations = 60;
                      const Program program = generate(c);
                      PublicCalls calls(own);
                      // (It may leave nothing to an MPI that only this thread may call.)
                      const bool is_funneled = std::getenv("WEFT_TEST_ONE_THREAD") != nullptr;
                      RankRun run(calls, c, program,
                                  {.may_thread = !is_funneled, .may_poll = false, .may_own = true});
                      const Watchdog watchdog({&run}, 50, c.text());
                      run.run();
                      if (wrong.empty() && !run.wrong().empty())
                          wrong = c.text() + ": " + run.wrong();
                      // Others may wait for it for ever.
                      if (run.is_stopped()) {
                          std::fprintf(stderr, "%s\n", wrong.c_str());
                          _exit(1);
                      }
                  },
                  {.stack_bytes = 1024 * 1024});
        is_over = true;
        if (!beside_computation) return;
        computes.join();
        EXPECT(weft::fibers::counts().preemptions > 0);
    });
    if (wrong.empty()) return;
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::exit(1);
}

// What a switch costs, printed: no test.
void measure(weft_comm world) {
    weft_request request = WEFT_REQUEST_NULL;
    if (world_rank == 0) {
        EXPECT(weft_ibarrier(world, &request) == WEFT_OK);
        for (const int fibers : {2, 100, 1000}) {
            std::int64_t best = INT64_MAX;
            weft::fibers::run([&] {
                constexpr int yields = 100'000;
                std::vector<Fiber> all;
                for (int repeat = 0; repeat < 20; ++repeat) {
                    const std::int64_t begin = now();
                    for (int i = 0; i < fibers; ++i) {
                        all.push_back(spawn([&] {
                            for (int k = 0; k < yields / fibers; ++k) yield();
                        }));
                    }
                    join_all(all);
                    best = std::min(best, (now() - begin) * 100 / yields);
                }
            });
            std::printf("%d fibers: a yield takes %.1f ns\n", fibers,
                        static_cast<double>(best) / 100);
        }
    } else {
        sleep(3);
        EXPECT(weft_ibarrier(world, &request) == WEFT_OK);
    }
    EXPECT(weft_wait(&request) == WEFT_OK);
}

}  // namespace

int main(int, char** arguments) {
    const std::string part = arguments[1];
    const weft_comm world = join_job();
    const std::pair<const char*, void (*)(weft_comm)> parts[] = {
        {"order", order},
        {"exceptions", exceptions},
        {"overflow", overflow},
        {"bad_pointer", bad_pointer},
        {"bad_pointer_with_own_handler", bad_pointer_with_own_handler},
        {"overflow_with_own_handler", overflow_with_own_handler},
        {"uncaught", uncaught},
        {"deadlock", deadlock},
        {"communicators", communicators},
        {"outside", outside},
        {"shared", shared},
        {"priority", priority},
        {"ten_thousand", ten_thousand},
        {"ends_of_waits", ends_of_waits},
        {"functions", functions},
        {"schedules_of_a_broken_group", schedules_of_a_broken_group},
        {"functions_of_schedules", functions_of_schedules},
        {"relay", relay},
        {"slices_differ", slices_differ},
        {"preempted", preempted},
        {"handlers", handlers},
        {"no_arrivals", no_arrivals},
        {"yields_while_preemptible", yields_while_preemptible},
        {"measure", measure},
    };
    bool is_known = part.starts_with("random") || part == "schedules" || part == "wait_long" ||
                    part == "relay_on_arrival";
    for (const auto& [name, run] : parts) {
        if (part != name) continue;
        run(world);
        is_known = true;
    }
    EXPECT(is_known);
    const auto seed = [&] { return std::strtoull(arguments[2], nullptr, 10); };
    if (part == "wait_long")
        wait_long(world, std::strtoull(arguments[2], nullptr, 10),
                  static_cast<unsigned>(std::atoi(arguments[3])));
    if (part == "schedules") schedules(world, std::atoi(arguments[2]));
    if (part == "random") random_programs(world, seed(), /*beside_computation=*/false);
    if (part == "random_beside_computation")
        random_programs(world, seed(), /*beside_computation=*/is_preempted);
    if (part == "relay_on_arrival") {
        preempts_on_arrival = true;
        relay(world);
    }
    EXPECT(weft_barrier(world) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
