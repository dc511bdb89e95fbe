// The C++ interface between ranks: ENGINE CASE. Every rank runs the same case and ends with status 1
// and a sentence when something does not hold.
#include <unistd.h>
#include <weft/pipeline.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/in_fibers.h"
#include "support/any_call.h"

namespace {

using weft::Collective;
using weft::Communicator;
using weft::Request;
using weft::test::OneCall;
using Values = std::vector<std::int64_t>;
using std::chrono::milliseconds;

int& rank = world_rank;
int& ranks = world_size;

template <class F>
weft::Error error_of(F&& call) {
    try {
        call();
    } catch (const weft::Error& error) {
        return error;
    }
    fail(__LINE__, "an error is thrown");
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::int64_t sum_of_ranks() { return std::int64_t{ranks} * (ranks - 1) / 2; }

// Ranks other than 0 are held here until rank 0 passes, which does not wait for them.
void pass(const Communicator& gate) {
    std::byte token{};
    gate.bcast(std::span(&token, 1), 0);
}

// --- Collectives ---------------------------------------------------------------------------------

enum class Form { nonblocking, blocking, persistent };

// Calls a form with those of these arguments that it takes.
template <Form kind, class Function, class Send, class Recv>
void call(const Function& function, Send&& send, Recv&& recv, const OneCall& one) {
    const auto counts_of = [](const weft::test::Described& described) {
        return std::vector<std::size_t>(described.counts.begin(), described.counts.end());
    };
    const std::vector<std::size_t> sent = counts_of(one.own.sends);
    const std::vector<std::size_t> received = counts_of(one.own.receives);
    const weft::TypedBlocks<const void> from = {one.call().send.data, sent, one.own.sends.types};
    const weft::TypedBlocks<void> into = {one.call().recv.data, received, one.own.receives.types};
    const int root = one.call().root;
    const bool lists_sent =
        weft::test::entry_of(static_cast<Collective>(one.call().collective)).lists_sent;
    const auto run = [&](const auto&... arguments) {
        if constexpr (kind == Form::blocking) {
            function(arguments...);
        } else {
            Request request = function(arguments...);
            if (kind == Form::persistent) request.start();
            request.wait();
        }
    };
    if constexpr (requires { function(); })
        run();
    else if constexpr (requires { function(recv, root); })
        run(recv, root);
    else if constexpr (requires { function(from, into); })
        run(from, into);
    else if constexpr (requires { function(send, recv); })
        run(send, recv);
    else if constexpr (requires { function(send, recv, root); })
        run(send, recv, root);
    else if constexpr (requires { function(send, recv, weft::sum); })
        run(send, recv, weft::sum);
    else if constexpr (requires { function(send, recv, weft::sum, root); })
        run(send, recv, weft::sum, root);
    else if constexpr (requires { function(send, recv, sent, weft::sum); })
        run(send, recv, sent, weft::sum);
    else if constexpr (requires { function(send, recv, sent, received); })
        run(send, recv, sent, received);
    else if constexpr (requires { function(send, recv, sent, root); })
        run(send, recv, lists_sent ? sent : received, root);
    else if constexpr (requires { function(send, recv, received); })
        run(send, recv, received);
    else
        fail(__LINE__, "the form takes such arguments");
}

template <Form kind, class Function>
void call_form(Collective collective, const Communicator& on, int root, bool in_place,
               const Function& function) {
    OneCall one(collective, rank, ranks,
                {.root = root,
                 .count = 2,
                 .in_place = in_place,
                 .neighbors = weft::test::neighbors("ring", ranks)});
    const auto values_in = [](std::vector<std::byte>& bytes) {
        return std::span(reinterpret_cast<std::int64_t*>(bytes.data()), bytes.size() / 8);
    };
    const std::span<std::int64_t> send = values_in(one.send);
    const std::span<std::int64_t> recv = values_in(one.recv);
    const auto form = [&](const auto&... a) -> decltype(function(on, a...)) {
        return function(on, a...);
    };
    if (one.call().send.data == WEFT_IN_PLACE)
        call<kind>(form, weft::in_place, recv, one);
    else if (one.call().recv.data == WEFT_IN_PLACE)
        call<kind>(form, send, weft::in_place, one);
    else
        call<kind>(form, send, recv, one);
    if (!one.is_right()) fail(__LINE__, weft::test::entry_of(collective).name);
}

// Every root, in place and not.
template <class Start, class Block, class Init>
void in_each_form(Collective collective, const Communicator& on, Start start, Block block,
                  Init init) {
    const weft::test::CollectiveEntry& entry = weft::test::entry_of(collective);
    for (int root = 0; root < (entry.has_root ? ranks : 1); ++root) {
        for (const bool in_place : {false, true}) {
            if (in_place && !weft::test::has_in_place(entry.name)) continue;
            call_form<Form::nonblocking>(collective, on, root, in_place, start);
            call_form<Form::blocking>(collective, on, root, in_place, block);
            call_form<Form::persistent>(collective, on, root, in_place, init);
        }
    }
}

void collectives() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    const Values own = {rank, 2 * rank};
    Values gathered(2 * n), reduced(2);
    const weft::test::Neighbors all = weft::test::neighbors("ring", ranks);
    const Communicator ring = world.cart(all.dims, all.periods);
#define FORMS(name, on)                                                                     \
    in_each_form(                                                                           \
        Collective::name, on,                                                               \
        [](const Communicator& c, auto&&... a) -> decltype(c.i##name(a...)) {               \
            return c.i##name(a...);                                                         \
        },                                                                                  \
        [](const Communicator& c, auto&&... a) -> decltype(c.name(a...)) { c.name(a...); }, \
        [](const Communicator& c, auto&&... a) -> decltype(c.name##_init(a...)) {           \
            return c.name##_init(a...);                                                     \
        });
#define COLLECTIVE(name, NAME, parameters, send, recv, op, root) FORMS(name, world)
#define NEIGHBOR_COLLECTIVE(name, NAME, parameters, send, recv, op, root) FORMS(name, ring)
#include "algorithm/collectives.def"
#undef COLLECTIVE
#undef FORMS
    EXPECT(world.allreduce(rank + 1, weft::max) == ranks);
    weft::ValueIndex<double> far =
        world.allreduce(weft::ValueIndex<double>{static_cast<double>(-rank), rank}, weft::minloc);
    EXPECT(far.index == ranks - 1);

    // Of pairs (a, b), read as x -> a x + b: rank order matters.
    struct Line {
        std::int32_t a, b;
    };
    const weft::Operation<std::int64_t> digits(
        [](std::int64_t left, std::int64_t right) {
            std::int64_t shift = 10;
            while (shift <= right) shift *= 10;
            return left * shift + right;
        },
        weft::Operands::in_rank_order);
    std::int64_t expected = 0;
    for (int r = 1; r <= ranks; ++r) expected = 10 * expected + r;
    EXPECT(world.allreduce(std::int64_t{rank} + 1, digits) == expected);

    // Bytes, where there is no type: a struct.
    std::vector<Line> lines(n);
    const Line mine[1] = {{rank, -rank}};
    world.allgather(mine, lines);
    for (int r = 0; r < ranks; ++r) {
        EXPECT(lines[static_cast<std::size_t>(r)].a == r);
        EXPECT(lines[static_cast<std::size_t>(r)].b == -r);
    }

    // Gathering needs a block for every rank.
    if (ranks > 1) {
        const weft::Error error = error_of([&] { (void)world.iallgather(own, reduced); });
        EXPECT(error.code() == WEFT_REFUSED_ARGUMENT);
        EXPECT(std::string(error.what()) == "recv has 2 elements; expected " +
                                                std::to_string(2 * ranks) +
                                                " (weft::Communicator::iallgather)");
        gathered.resize(2 * n + 1);
        EXPECT(error_of([&] { world.allgather(weft::in_place, gathered); }).code() ==
               WEFT_REFUSED_ARGUMENT);
        const std::vector<std::size_t> counts(n, 1);
        const Values ones(n, 1);
        const weft::Error other =
            error_of([&] { world.reduce_scatter(ones, reduced, counts, weft::sum); });
        EXPECT(other.code() == WEFT_REFUSED_ARGUMENT);
        EXPECT(has(other.what(), "(weft::Communicator::reduce_scatter)"));
    }
    world.barrier();
}

// On a ring, where both neighbors may be one rank, and along a path in one direction.
void neighbors() {
    const Communicator world = Communicator::world();
    const int below = (rank + ranks - 1) % ranks;
    const int above = (rank + 1) % ranks;
    const int periods[] = {1};
    const Communicator ring = world.cart(std::span(&ranks, 1), periods);
    const Communicator circle = world.graph(std::span(&below, 1), std::span(&above, 1));
    EXPECT(ring && circle && circle.size() == ranks);
    EXPECT(ring.sources() == (std::vector<int>{below, above}) &&
           ring.destinations() == ring.sources());
    EXPECT(circle.sources() == std::vector<int>{below} &&
           circle.destinations() == std::vector<int>{above});
    const auto same_block = [](int r) { return Values{r, 10 * r}; };
    const std::vector<std::size_t> counts = {2, 2};
    Values came(2, -1);
    const Values mine = same_block(rank);
    circle.neighbor_alltoall(mine, came);
    EXPECT(came == same_block(below));
    // At the ends of a row a neighbor is missing: its block takes no room.
    const int open[] = {0};
    const Communicator row = world.cart(std::span(&ranks, 1), open);
    Values same_of_others, own_for_others, own_of_others;
    for (const int other : {rank - 1, rank + 1}) {
        if (other < 0 || other >= ranks) continue;
        same_of_others.insert(same_of_others.end(), {other, 10 * other});
        own_for_others.insert(own_for_others.end(), {rank, other});
        own_of_others.insert(own_of_others.end(), {other, rank});
    }
    Values got(same_of_others.size(), -1);
    const Values same = same_block(rank);
    row.neighbor_allgatherv(same, got, counts);
    EXPECT(got == same_of_others);
    got.assign(got.size(), -1);
    row.neighbor_alltoallv(own_for_others, got, counts, counts);
    EXPECT(got == own_of_others);

    Values none;
    const Values odd(3);
    EXPECT(error_of([&] { ring.neighbor_alltoall(odd, none); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.neighbor_alltoall(none, none); }).code() == WEFT_REFUSED_ARGUMENT);
}

void rooted() {
    const Communicator world = Communicator::world();
    const auto n = static_cast<std::size_t>(ranks);
    // Structs go as bytes, a block for every rank.
    struct Pair {
        std::int16_t a;
        std::int64_t b;
    };
    std::vector<Pair> pairs(n, Pair{static_cast<std::int16_t>(rank), -rank}), got(n);
    world.alltoall(pairs, got);
    for (std::size_t r = 0; r < n; ++r) EXPECT(got[r].b == -static_cast<std::int64_t>(r));
    Pair one[1];
    world.scatter(got, one, 0);
    EXPECT(one[0].a == rank && one[0].b == -rank);
    world.gather(one, pairs, 0);
    for (std::size_t r = 0; r < n; ++r) EXPECT(pairs[r].b == (rank == 0 ? got[r].b : -rank));

    // Sizes that do not fit are refused before anything is sent; so is in place elsewhere than on root.
    Values odd(2 * n + 1), as_odd(2 * n + 1), two(2);
    EXPECT(error_of([&] { (void)world.igather(two, odd, rank); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(std::string(error_of([&] { (void)world.iscatter(odd, two, rank); }).what()) ==
           "send has " + std::to_string(2 * n + 1) + " elements; expected " +
               std::to_string(2 * n) + " (weft::Communicator::iscatter)");
    EXPECT(error_of([&] { world.alltoall(odd, two); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.alltoall(odd, as_odd); }).code() == WEFT_REFUSED_ARGUMENT);
    EXPECT(error_of([&] { world.reduce(two, odd, weft::sum, rank); }).code() ==
           WEFT_REFUSED_ARGUMENT);
    const int other = (rank + 1) % ranks;
    EXPECT(std::string(error_of([&] { world.gather(weft::in_place, odd, other); }).what()) ==
           "send = in_place; expected a buffer, only the root can be in place "
           "(weft::Communicator::gather)");
    EXPECT(std::string(error_of([&] { world.scatter(odd, weft::in_place, other); }).what()) ==
           "recv = in_place; expected a buffer, only the root can be in place "
           "(weft::Communicator::scatter)");
    world.barrier();
}

void communicators() {
    const Communicator world = Communicator::world();
    EXPECT(world.size() == ranks && world.rank() == rank);
    EXPECT(Communicator::self().size() == 1);
    const Communicator backwards = world.split(0, -rank);
    EXPECT(backwards.rank() == ranks - 1 - rank);
    const Communicator half = backwards.split(rank % 2);
    EXPECT(half.size() == (ranks + 1 - rank % 2) / 2);
    const Communicator rest = world.split(rank == 0 ? WEFT_COLOR_NONE : 0);
    EXPECT(static_cast<bool>(rest) == (rank != 0));
    if (rest) EXPECT(rest.allreduce(1, weft::sum) == ranks - 1);
    EXPECT(half.allreduce(1, weft::sum) == half.size());
    // An operation outlives its communicator.
    std::vector<float> values(50'000, 1);
    Request request = world.dup().iallreduce(weft::in_place, values, weft::sum);
    request.wait();
    for (float value : values) EXPECT(value == static_cast<float>(ranks));
}

// --- Requests ------------------------------------------------------------------------------------

// Rank 0 looks at operations that the others have not started.
void pending() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    std::vector<std::size_t> indices(3);
    std::size_t index = 0;
    if (rank != 0) pass(gate);
    std::vector<Request> requests(3);
    requests[1] = world.ibarrier();
    requests[2] = world.barrier_init();
    requests[2].start();
    if (rank == 0) {
        EXPECT(!requests[1].test() && !weft::test_all(requests));
        EXPECT(!weft::test_any(requests, index) && index == weft::none);
        EXPECT(weft::test_some(requests, indices) == 0);
        EXPECT(!requests[1].wait_for(milliseconds(5)));
        EXPECT(has(weft_last_detail(), "on world waits for messages from rank"));
        EXPECT(!requests[2].wait_until(std::chrono::steady_clock::now() + milliseconds(5)));
        EXPECT(has(weft_last_detail(), "persistent"));
        EXPECT(!weft::wait_all_for(requests, milliseconds(5)));
        EXPECT(!weft::wait_all_until(requests, std::chrono::steady_clock::now()));
        EXPECT(!requests[1].wait_for(std::chrono::nanoseconds::min()));
        const weft::Error error = error_of([&] { requests[2].start(); });
        EXPECT(error.code() == WEFT_REFUSED_STATE && has(error.what(), "is active; expected"));

        weft_interrupt();
        EXPECT(error_of([&] { requests[1].wait(); }).code() == WEFT_INTERRUPTED);
        EXPECT(requests[1] && !requests[1].test());
        pass(gate);
    }
    index = weft::wait_any(requests);
    EXPECT(index == 1 || index == 2);
    EXPECT(weft::wait_some(requests, indices) == 1 && indices[0] == 3 - index);
    EXPECT(!requests[0] && !requests[1] && requests[2]);
    requests[2].start();
    requests[0] = world.ibarrier();
    EXPECT(weft::wait_all_for(requests, std::chrono::nanoseconds::max()));
    EXPECT(!requests[0] && requests[2]);
}

// A request that ends waits first: its buffer is the program's again.
void ends() {
    constexpr std::size_t count = 200'000;
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    const auto start = [&](Values& values) {
        values.assign(count, rank);
        if (rank != 0) pass(gate);
        Request request = world.iallreduce(weft::in_place, values, weft::sum);
        if (rank == 0) {
            EXPECT(!request.test());
            pass(gate);
        }
        return request;
    };
    const auto is_done = [&](const Values& values) {
        return values == Values(count, sum_of_ranks());
    };
    Values values, others;
    { Request request = start(values); }
    EXPECT(is_done(values));

    Request request = start(values);
    request = start(others);
    EXPECT(is_done(values));
    request = Request();
    EXPECT(is_done(others));

    try {
        Request lost = start(values);
        throw 5;
    } catch (int) {
        EXPECT(is_done(values));
    }

    // An interruption does not end that wait, and is kept for one that can tell. The gate opens late
    // enough for the interruption to be seen by the first of them.
    if (rank == 0) {
        std::thread opens;
        values.assign(count, rank);
        {
            Request lent = world.iallreduce(weft::in_place, values, weft::sum);
            weft_interrupt();
            opens = std::thread([&] {
                usleep(50'000);
                pass(gate);
            });
        }
        EXPECT(is_done(values));
        opens.join();
        Request next = world.ibarrier();
        EXPECT(error_of([&] { next.wait(); }).code() == WEFT_INTERRUPTED);
        pass(gate);
        next.wait();
    } else {
        start(values).wait();
        pass(gate);
        world.barrier();
    }
}

// Rank 1 leaves when the others have started what needs it.
void left() {
    const Communicator gate = Communicator::world().dup();
    std::vector<Request> requests(2);
    requests[0] = Communicator::world().barrier_init();
    if (rank != 1) {
        requests[0].start();
        requests[1] = Communicator::world().ibarrier();
    }
    gate.barrier();
    if (rank == 1) throw 1;
    const weft::Error error = error_of([&] { weft::wait_all(requests); });
    EXPECT(error.code() == WEFT_BROKEN_RANK);
    EXPECT(has(error.what(), "on world: rank 1 of the job died or left; 2 requests failed"));
    EXPECT(!requests[1]);
    EXPECT(error_of([&] { requests[0].start(); }).code() == WEFT_BROKEN_RANK);
    EXPECT(error_of([&] { (void)Communicator::world().ibarrier(); }).code() == WEFT_BROKEN_RANK);
}

// An operation throws on one rank, in whichever thread it runs: all ranks hear of it and go on.
void operation_throws() {
    const weft::Operation<double> sum(
        [](double left, double right) {
            if (rank == 1) throw 1;
            return left + right;
        },
        weft::Operands::in_any_order);
    // In a ring every rank reduces; and it breaks only when all have it.
    const Communicator one = Communicator::world().dup("allreduce=ring");
    Communicator::world().barrier();
    std::vector<double> values(static_cast<std::size_t>(ranks) * 4, rank);
    const weft::Error error = error_of([&] { one.allreduce(weft::in_place, values, sum); });
    EXPECT(error.code() == WEFT_BROKEN_FUNCTION);
    EXPECT(has(error.what(), "a function of the program on rank 1 of the job threw an exception"));
    EXPECT(error_of([&] { one.barrier(); }).code() == WEFT_BROKEN_FUNCTION);
    Communicator::world().barrier();
}

// One rank calls off what the others wait for.
void aborts() {
    const Communicator one = Communicator::world().dup();
    Communicator::world().barrier();  // all have it
    if (rank == 1) one.abort("enough");
    const weft::Error error = error_of([&] { one.barrier(); });
    EXPECT(error.code() == WEFT_BROKEN_ABORT);
    EXPECT(has(error.what(), "rank 1 of the job aborted the communicator: enough"));
    Communicator::world().barrier();
}

template <weft_status expected>
void expect_terminate() {
    std::set_terminate([] {
        try {
            std::rethrow_exception(std::current_exception());
        } catch (const weft::Error& error) {
            weft_finalize();  // where it can: the others may not have passed the gate
            if (error.code() == expected) _exit(0);
        }
        _exit(1);
    });
}

// A failure that nobody asked for does not pass silently.
void unseen() {
    const Communicator gate = Communicator::world().dup();
    {
        Request request;
        if (rank != 1) request = Communicator::world().ibarrier();
        gate.barrier();
        if (rank == 1) throw 1;
        expect_terminate<WEFT_BROKEN_RANK>();
    }
    fail(__LINE__, "the program is terminated");
}

// An operation that has timed out still uses its buffers: a program that would free them is terminated,
// even with an exception in flight.
void timed_out() {
    const Communicator world = Communicator::world();
    Request never_on_rank_0 = world.barrier_init();
    if (rank == 0) {
        expect_terminate<WEFT_TIMED_OUT>();
        try {
            Request request = world.ibarrier();
            request.wait();
        } catch (const weft::Error&) {
        }
        fail(__LINE__, "the program is terminated");
    }
    never_on_rank_0.start();
    weft_status status = WEFT_TIMED_OUT;
    while (status == WEFT_TIMED_OUT) status = error_of([&] { never_on_rank_0.wait(); }).code();
    EXPECT(status == WEFT_BROKEN_RANK);
}

// --- The pipeline --------------------------------------------------------------------------------

void pipeline() {
    const Communicator world = Communicator::world();
    for (std::size_t buffers = 1; buffers <= 5; ++buffers) {
        for (std::size_t blocks : {0, 1, 3, 60}) {
            std::vector<Values> storage(buffers, Values(3000));
            std::size_t finished = 0;
            weft::pipeline(
                blocks, storage,
                [&](std::size_t block, Values& buffer) {
                    std::iota(buffer.begin(), buffer.end(),
                              static_cast<std::int64_t>(block) + rank);
                },
                [&](std::size_t, Values& buffer) {
                    return world.iallreduce(weft::in_place, buffer, weft::sum);
                },
                [&](std::size_t block, const Values& buffer) {
                    EXPECT(block == finished++);
                    for (std::size_t i = 0; i < buffer.size(); ++i) {
                        EXPECT(buffer[i] ==
                               ranks * static_cast<std::int64_t>(block + i) + sum_of_ranks());
                    }
                });
            EXPECT(finished == blocks);
        }
    }
}

// Rank 0 computes as many blocks as there are other buffers before any other rank has begun.
void pipeline_overlaps() {
    const Communicator world = Communicator::world();
    const Communicator gate = world.dup();
    for (std::size_t buffers = 2; buffers <= 5; ++buffers) {
        std::vector<Values> storage(buffers, Values(1000));
        weft::pipeline(
            10, storage,
            [&](std::size_t block, Values&) {
                if (block == (rank == 0 ? buffers - 1 : 0)) pass(gate);
            },
            [&](std::size_t, Values& buffer) {
                return world.iallreduce(weft::in_place, buffer, weft::sum);
            });
    }
}

// Whichever function throws, at whichever block: what was started is done, the buffers are free.
void pipeline_throws() {
    const Communicator world = Communicator::world();
    const std::size_t last = 7;
    for (int thrower = 0; thrower < 3; ++thrower) {
        for (std::size_t buffers = 1; buffers <= 4; ++buffers) {
            for (std::size_t at = 0; at <= last; ++at) {
                std::vector<Values> storage(buffers, Values(40'000, -1));
                std::size_t started = 0;
                const auto step = [&](int function, std::size_t block) {
                    if (function == thrower && block == at) throw at;
                };
                bool is_thrown = false;
                try {
                    weft::pipeline(
                        last + 1, storage,
                        [&](std::size_t block, Values& buffer) {
                            step(0, block);
                            buffer.assign(buffer.size(), static_cast<std::int64_t>(block) + rank);
                        },
                        [&](std::size_t block, Values& buffer) {
                            step(1, block);
                            ++started;
                            return world.iallreduce(weft::in_place, buffer, weft::sum);
                        },
                        [&](std::size_t block, Values&) { step(2, block); });
                } catch (std::size_t block) {
                    is_thrown = block == at;
                }
                EXPECT(is_thrown);
                for (std::size_t i = 0; i < buffers && i < started; ++i) {
                    const std::size_t block = started - 1 - i;
                    // The thrower of block `at` may have begun to fill its buffer anew.
                    if (thrower == 1 && block % buffers == at % buffers) continue;
                    EXPECT(
                        storage[block % buffers] ==
                        Values(40'000, ranks * static_cast<std::int64_t>(block) + sum_of_ranks()));
                }
            }
        }
    }
}

// One rank leaves in the middle: the others get the error, and nothing of theirs is pending.
void pipeline_left() {
    std::vector<Values> storage(3, Values(100));
    std::size_t finished = 0;
    const weft::Error error = error_of([&] {
        weft::pipeline(
            100, storage,
            [&](std::size_t block, Values&) {
                if (rank == 1 && block == 50) throw 1;
            },
            [&](std::size_t, Values& buffer) {
                return Communicator::world().iallreduce(weft::in_place, buffer, weft::sum);
            },
            [&](std::size_t, Values&) { ++finished; });
    });
    EXPECT(error.code() == WEFT_BROKEN_RANK && has(error.what(), "rank 1 of the job died or left"));
    EXPECT(finished <= 50);
}

// What is only destroyed after the job was left.
void outlives() {
    Communicator comm;
    Request inactive;
    {
        const weft::Environment environment;
        comm = Communicator::world().dup();
        inactive = comm.barrier_init();
    }
    EXPECT(weft_is_initialized() == 0);
}

// The job cannot be left while an operation is pending: rank 0 is terminated, as the others see.
void outstanding() {
    weft_request forgotten = WEFT_REQUEST_NULL;
    const weft::Environment environment;
    const Communicator world = Communicator::world();
    rank = world.rank();
    Request never_on_rank_0 = world.barrier_init();
    if (rank == 0) {
        expect_terminate<WEFT_REFUSED_OUTSTANDING>();
        weft::check(weft_ibarrier(world.handle(), &forgotten));
    } else {
        const weft::Error error = error_of([&] {
            never_on_rank_0.start();
            never_on_rank_0.wait();
        });
        EXPECT(error.code() == WEFT_BROKEN_RANK);
    }
}

void run_case(std::string_view name) {
    if (name == "collectives")
        collectives();
    else if (name == "rooted")
        rooted();
    else if (name == "neighbors")
        neighbors();
    else if (name == "communicators")
        communicators();
    else if (name == "pending")
        pending();
    else if (name == "ends")
        ends();
    else if (name == "left")
        left();
    else if (name == "operation_throws")
        operation_throws();
    else if (name == "aborts")
        aborts();
    else if (name == "unseen")
        unseen();
    else if (name == "timed_out")
        timed_out();
    else if (name == "pipeline")
        pipeline();
    else if (name == "pipeline_overlaps")
        pipeline_overlaps();
    else if (name == "pipeline_throws")
        pipeline_throws();
    else if (name == "pipeline_left")
        pipeline_left();
    else
        fail(__LINE__, "the case is known");
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 3);
    setenv("WEFT_ENGINE", argv[1], 1);
    if (std::string_view(argv[2]) == "timed_out") setenv("WEFT_TIMEOUT", "0.2", 1);
    if (std::string_view(argv[2]) == "outlives") return outlives(), 0;
    if (std::string_view(argv[2]) == "outstanding") return outstanding(), rank == 0;
    try {
        const weft::Environment environment;
        rank = Communicator::world().rank();
        ranks = Communicator::world().size();
        run_here_or_beside_fibers([&] { run_case(argv[2]); });
    } catch (int who) {
        EXPECT(who == rank);  // the one that leaves
    }
    EXPECT(weft_is_initialized() == 0);
}
