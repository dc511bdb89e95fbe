// The program's own schedules: ENGINE CASE. Every rank runs the same case and ends with status 1
// and a sentence when something does not hold.
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/in_fibers.h"
#include "conformance/rank_expect.h"
#include "support/counting_new.h"

namespace {

using weft::test::allocations;
using weft::test::counting;
using weft::test::living;

int& rank = world_rank;
int& ranks = world_size;

using Value = std::int64_t;

// Elements [first, first + count) of a buffer.
weft_region elements(weft_buffer buffer, std::size_t first, std::size_t count) {
    return {buffer, static_cast<std::int64_t>(first * sizeof(Value)),
            static_cast<std::int64_t>(count * sizeof(Value))};
}

// A schedule whose building must not be refused.
class Builder {
  public:
    using After = std::initializer_list<weft_node>;

    explicit Builder(weft_comm comm) { EXPECT(weft_schedule_create(comm, &schedule) == WEFT_OK); }
    weft_node send(weft_region from, int peer, After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_send(schedule, from, peer, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node recv(weft_region into, int peer, After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_recv(schedule, into, peer, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node copy(weft_region from, weft_region into, After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_copy(schedule, from, into, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node reduce(weft_region from, weft_region into, After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_reduce(schedule, from, into, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node reduce_right(weft_region from, weft_region into, After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_reduce_right(schedule, from, into, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node call(weft_region data, weft_schedule_function function, void* context,
                   After after = {}) {
        weft_node node;
        EXPECT(weft_schedule_call(schedule, data, function, context, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node join(After after) {
        weft_node node;
        EXPECT(weft_schedule_join(schedule, &node) == WEFT_OK);
        return order(node, after);
    }
    weft_node order(weft_node node, After after) {
        for (weft_node predecessor : after) {
            EXPECT(weft_schedule_after(schedule, node, predecessor) == WEFT_OK);
        }
        return node;
    }
    weft_region scratch(std::size_t count) {
        weft_region region;
        EXPECT(weft_schedule_scratch(schedule, static_cast<std::int64_t>(count * sizeof(Value)),
                                     &region) == WEFT_OK);
        return region;
    }
    void seal() { EXPECT(weft_schedule_seal(schedule) == WEFT_OK); }
    void seal_and_check() {
        seal();
        EXPECT(weft_schedule_check(schedule) == WEFT_OK);
    }
    weft_request request(const void* send_buf, void* recv_buf, weft_op op = WEFT_OP_NULL) {
        weft_request made = WEFT_REQUEST_NULL;
        EXPECT(weft_schedule_init(schedule, send_buf, recv_buf, WEFT_INT64, op, &made) == WEFT_OK);
        return made;
    }
    void free() {
        EXPECT(weft_schedule_free(&schedule) == WEFT_OK);
        EXPECT(schedule == WEFT_SCHEDULE_NULL);
    }

    weft_schedule schedule = WEFT_SCHEDULE_NULL;
};

void start(weft_request& request) { EXPECT(weft_start(&request) == WEFT_OK); }
void wait(weft_request& request) { EXPECT(weft_wait(&request) == WEFT_OK); }
void run(weft_request& request) {
    start(request);
    wait(request);
}
void free_request(weft_request& request) { EXPECT(weft_request_free(&request) == WEFT_OK); }

int right() { return (rank + 1) % ranks; }
int left() { return (rank + ranks - 1) % ranks; }

// One step around the ring; alone, a copy.
void add_shift(Builder& builder, std::size_t count) {
    const weft_region mine = elements(WEFT_SEND_BUFFER, 0, count);
    const weft_region theirs = elements(WEFT_RECV_BUFFER, 0, count);
    if (ranks == 1) {
        builder.copy(mine, theirs);
        return;
    }
    builder.send(mine, right());
    builder.recv(theirs, left());
}

void ring_shift(weft_comm world) {
    constexpr std::size_t count = 5000;
    Builder builder(world);
    add_shift(builder, count);
    builder.seal_and_check();
    std::vector<Value> mine(count), theirs(count);
    weft_request request = builder.request(mine.data(), theirs.data());
    for (Value round = 0; round < 200; ++round) {
        std::iota(mine.begin(), mine.end(), 1000 * round + rank);
        // The transport needs no more room than in the first rounds, in which one after the other is
        // ahead, so that its message comes before the receive.
        EXPECT(weft_barrier(world) == WEFT_OK);
        const bool is_ahead = round < 10 && round % ranks == rank;
        if (is_ahead) start(request);
        if (round < 10) EXPECT(weft_barrier(world) == WEFT_OK);
        counting = round >= 10;
        if (!is_ahead) start(request);
        counting = false;
        wait(request);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT(theirs[i] == 1000 * round + left() + static_cast<Value>(i));
        }
    }
    EXPECT(weft_barrier(world) == WEFT_OK);  // nobody leaves while another one counts
    EXPECT(allocations == 0);
    free_request(request);
    builder.free();
}

void binomial_bcast(weft_comm world) {
    for (std::size_t count : {std::size_t{1}, std::size_t{3000}}) {
        for (int root = 0; root < ranks; ++root) {
            Builder builder(world);
            const weft_region data = elements(WEFT_RECV_BUFFER, 0, count);
            const int place = (rank - root + ranks) % ranks;
            auto at = [&](int other) { return (other + root) % ranks; };
            int bit = 1;
            while (bit < ranks && (place & bit) == 0) bit <<= 1;
            weft_node got = WEFT_NODE_NONE;
            if (place != 0) got = builder.recv(data, at(place - bit));
            while (bit >>= 1) {
                if (place + bit < ranks) builder.send(data, at(place + bit), {got});
            }
            builder.seal_and_check();
            std::vector<Value> own(count), expected(count);
            weft_request request = builder.request(nullptr, own.data());
            for (Value round = 0; round < 5; ++round) {
                std::iota(own.begin(), own.end(), 100 * rank + round);
                expected = own;
                EXPECT(weft_bcast(expected.data(), count, WEFT_INT64, root, world) == WEFT_OK);
                run(request);
                EXPECT(own == expected);
            }
            free_request(request);
            builder.free();
        }
    }
}

// Blocks travel from rank 0 to the last one, which gets the sum; every rank adds its own.
void pipeline(weft_comm world) {
    constexpr std::size_t blocks = 16, block = 300;
    Builder builder(world);
    for (std::size_t b = 0; b < blocks; ++b) {
        const weft_region mine = elements(WEFT_SEND_BUFFER, b * block, block);
        const weft_region sum = rank == ranks - 1 ? elements(WEFT_RECV_BUFFER, b * block, block)
                                                  : builder.scratch(block);
        weft_node ready;
        if (rank == 0) {
            ready = builder.copy(mine, sum);
        } else {
            ready = builder.reduce(mine, sum, {builder.recv(sum, rank - 1)});
        }
        if (rank < ranks - 1) builder.send(sum, rank + 1, {ready});
    }
    builder.seal_and_check();
    std::vector<Value> mine(blocks * block), sum(mine.size()), expected(mine.size());
    const bool is_last = rank == ranks - 1;
    weft_request request = builder.request(mine.data(), is_last ? sum.data() : nullptr, WEFT_SUM);
    for (Value round = 0; round < 20; ++round) {
        std::iota(mine.begin(), mine.end(), (rank + 1) * (round + 3));
        EXPECT(weft_allreduce(mine.data(), expected.data(), mine.size(), WEFT_INT64, WEFT_SUM,
                              world) == WEFT_OK);
        run(request);
        EXPECT(!is_last || sum == expected);
    }
    free_request(request);
    builder.free();
}

// An operation that does not commute: the left operand.
void keep_left(const void* in, void* inout, std::size_t count, weft_type, void*) {
    std::memcpy(inout, in, count * sizeof(Value));
}

void operand_order(weft_comm world) {
    weft_op op = WEFT_OP_NULL;
    EXPECT(weft_op_create(keep_left, 0, nullptr, &op) == WEFT_OK);
    // [0] = [2] (op) [0]; [1] = [1] (op) [3]
    Builder builder(world);
    auto place = [](std::size_t i) { return elements(WEFT_RECV_BUFFER, i, 1); };
    builder.reduce(place(2), place(0));
    builder.reduce_right(place(3), place(1));
    builder.seal_and_check();
    std::array<Value, 4> values{10, 11, 12, 13};
    weft_request request = builder.request(nullptr, values.data(), op);
    EXPECT(weft_op_free(&op) == WEFT_OK);
    run(request);
    EXPECT(values[0] == 12 && values[1] == 11);
    free_request(request);
    builder.free();
}

struct Counter {
    Value calls = 0;
    Value seen = 0;
};

// The program computes what is sent just before it is, and takes what arrives.
void calls(weft_comm world) {
    Counter made, taken, ended;
    Builder builder(world);
    const weft_region out = builder.scratch(1);
    weft_node produced = builder.call(
        out,
        [](void* data, std::size_t bytes, void* context) {
            auto& counter = *static_cast<Counter*>(context);
            const Value value = 10 * rank + ++counter.calls;
            if (bytes == sizeof value) std::memcpy(data, &value, sizeof value);
        },
        &made);
    const weft_region in = elements(WEFT_RECV_BUFFER, 1, 1);
    weft_node arrived, gone;
    if (ranks == 1) {
        arrived = gone = builder.copy(out, in, {produced});
    } else {
        gone = builder.send(out, right(), {produced});
        arrived = builder.recv(in, left());
    }
    weft_node consumed = builder.call(in,
                                      [](void* data, std::size_t, void* context) {
                                          auto& counter = *static_cast<Counter*>(context);
                                          std::memcpy(&counter.seen, data, sizeof(Value));
                                          ++counter.calls;
                                      },
                                      &taken, {arrived});
    weft_node end = builder.join({gone, consumed});
    builder.call({WEFT_SCRATCH, 0, 0},
                 [](void* data, std::size_t bytes, void* context) {
                     auto& counter = *static_cast<Counter*>(context);
                     if (!data && bytes == 0) ++counter.calls;
                 },
                 &ended, {end});
    builder.seal_and_check();
    std::array<Value, 2> received{-1, -1};
    weft_request request = builder.request(nullptr, received.data());
    for (Value round = 1; round <= 100; ++round) {
        run(request);
        EXPECT(made.calls == round && taken.calls == round && ended.calls == round);
        EXPECT(taken.seen == 10 * left() + round && received[1] == taken.seen);
        EXPECT(received[0] == -1);
    }
    free_request(request);
    builder.free();
}

// Requests of one schedule are apart, outlive it and its communicator, and may be started in any
// order.
void lifetimes(weft_comm world) {
    weft_comm comm = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(world, &comm) == WEFT_OK);
    Builder builder(comm);
    add_shift(builder, 1);
    builder.seal_and_check();
    constexpr std::size_t many = 8;
    std::array<Value, many> mine{}, theirs{};
    std::array<weft_request, many> requests{};
    for (std::size_t i = 0; i < many; ++i) requests[i] = builder.request(&mine[i], &theirs[i]);
    builder.free();
    EXPECT(weft_comm_free(&comm) == WEFT_OK);
    for (std::size_t round = 0; round < 50; ++round) {
        for (std::size_t i = 0; i < many; ++i) {
            mine[i] = 1000 * rank + static_cast<Value>(round * many + i);
        }
        // Each rank begins elsewhere.
        for (std::size_t i = 0; i < many; ++i) {
            start(requests[(i + static_cast<std::size_t>(rank) + round) % many]);
        }
        EXPECT(weft_waitall(many, requests.data(), nullptr) == WEFT_OK);
        for (std::size_t i = 0; i < many; ++i) {
            EXPECT(theirs[i] == 1000 * left() + static_cast<Value>(round * many + i));
        }
    }
    for (weft_request& request : requests) free_request(request);

    // Left behind: an open schedule, a sealed one, one with a request, and a request without one.
    Builder open(world), sealed(world), used(world), gone(world);
    open.scratch(1);
    sealed.seal();
    for (Builder* one : {&used, &gone}) {
        add_shift(*one, 1);
        one->seal();
        weft_request request = one->request(&mine[0], &theirs[0]);
        run(request);
    }
    gone.free();
}

// Whatever is freed first, nothing of schedules, requests and communicators is left.
void growth(weft_comm world, int cycles) {
    auto cycle = [world](int times) {
        for (int i = 0; i < times; ++i) {
            weft_comm comm = WEFT_COMM_NULL;
            EXPECT(weft_comm_dup(world, &comm) == WEFT_OK);
            Builder open(comm), builder(i % 4 < 2 ? comm : world);
            add_shift(builder, 1);
            builder.scratch(100);
            builder.seal_and_check();
            Value mine = rank, theirs = -1;
            weft_request first = builder.request(&mine, &theirs);
            weft_request second = builder.request(&mine, &theirs);
            run(first);
            run(second);
            EXPECT(theirs == left());
            free_request(first);
            if (i % 2 == 0) EXPECT(weft_comm_free(&comm) == WEFT_OK);
            if (i % 3 == 0) free_request(second);
            builder.free();
            if (i % 3 != 0) free_request(second);
            if (i % 2 == 1) EXPECT(weft_comm_free(&comm) == WEFT_OK);
            open.free();
        }
    };
    cycle(60);
    const long before = living;
    cycle(cycles);
    EXPECT(living < before + 60);
}

// weft_schedule_check finds `sentence`, and says the same on every rank.
void expect_flaw(weft_comm world, Builder& builder, const std::string& sentence) {
    builder.seal();
    EXPECT(weft_schedule_check(builder.schedule) == WEFT_REFUSED_ARGUMENT);
    std::array<char, 512> own{};
    std::snprintf(own.data(), own.size(), "%s", weft_last_detail());
    if (sentence + " (weft_schedule_check)" != own.data()) {
        std::fprintf(stderr, "expected: %s\n", sentence.c_str());
        fail(__LINE__, "the expected sentence");
    }
    std::vector<char> all(own.size() * static_cast<std::size_t>(ranks));
    EXPECT(weft_allgather(own.data(), all.data(), own.size(), WEFT_BYTE, world) == WEFT_OK);
    for (int r = 0; r < ranks; ++r) {
        EXPECT(std::strcmp(all.data() + own.size() * static_cast<std::size_t>(r), own.data()) == 0);
    }
    builder.free();
}

// With two ranks at least; those beyond do nothing.
void flaws(weft_comm world) {
    const weft_region two = elements(WEFT_RECV_BUFFER, 0, 2);
    const weft_region one = elements(WEFT_RECV_BUFFER, 0, 1);
    {
        Builder builder(world);  // rank 1 answers without waiting for what it answers
        if (rank == 0) builder.send(elements(WEFT_SEND_BUFFER, 0, 1), 1), builder.recv(one, 1);
        if (rank == 1) builder.recv(one, 0), builder.send(one, 0);
        expect_flaw(world, builder,
                    "hazard: operation 0 of rank 1 (recv recv[0..8) <- rank 0) and operation 1 of "
                    "rank 1 (send recv[0..8) -> rank 0) are not ordered, touch the same bytes of "
                    "recv[0..8), and one writes them");
    }
    {
        Builder builder(world);  // a function may write its region
        if (rank == 1) {
            builder.call(
                two, [](void*, std::size_t, void*) {}, nullptr);
            builder.copy(elements(WEFT_SEND_BUFFER, 0, 1), one);
        }
        expect_flaw(world, builder,
                    "hazard: operation 0 of rank 1 (call recv[0..16)) and operation 1 of rank 1 "
                    "(copy send[0..8) -> recv[0..8)) are not ordered, touch the same bytes of "
                    "recv[0..8), and one writes them");
    }
    {
        Builder builder(world);
        if (rank == 0) builder.send(one, 1), builder.send(one, 1);
        if (rank == 1) builder.recv(one, 0);
        expect_flaw(world, builder,
                    "matching: no operation receives what operation 1 of rank 0 (send recv[0..8) "
                    "-> rank 1) sends (message 1 from rank 0 to rank 1)");
    }
    {
        Builder builder(world);
        if (rank == 0) builder.send(two, 1);
        if (rank == 1) builder.recv(one, 0);
        expect_flaw(world, builder,
                    "matching: operation 0 of rank 0 (send recv[0..16) -> rank 1) sends 16 bytes, "
                    "operation 0 of rank 1 (recv recv[0..8) <- rank 0) expects 8 (message 0 from "
                    "rank 0 to rank 1)");
    }
    {
        Builder builder(world);  // each answers before it asks
        if (rank < 2) {
            weft_node got = builder.recv(one, 1 - rank);
            builder.send(elements(WEFT_RECV_BUFFER, 1, 1), 1 - rank, {got});
        }
        expect_flaw(world, builder,
                    "deadlock: operation 0 of rank 0 (recv recv[0..8) <- rank 1) waits forever: "
                    "operation 1 of rank 1 (send recv[8..16) -> rank 0) is never posted");
    }
}

// What weft_schedule_check would have found breaks the communicator, not the program.
void mismatch(weft_comm world) {
    weft_comm pair = WEFT_COMM_NULL;
    EXPECT(weft_comm_split(world, rank < 2 ? 0 : WEFT_COLOR_NONE, 0, &pair) == WEFT_OK);
    if (rank > 1) return;
    Builder builder(pair);
    if (rank == 0) builder.send(elements(WEFT_SEND_BUFFER, 0, 2), 1);
    if (rank == 1) builder.recv(elements(WEFT_RECV_BUFFER, 0, 1), 0);
    builder.seal();
    Value sent[2] = {}, received = 0;
    weft_request request = builder.request(sent, &received);
    start(request);
    // What rank 0 has sent may be gone before it is looked at.
    const weft_status status = weft_wait(&request);
    EXPECT(status == WEFT_BROKEN_MESSAGE || (status == WEFT_OK && rank == 0));
    if (rank == 1) {
        EXPECT(std::string_view(weft_last_detail()) ==
               "schedule on split 0 of world: rank 0 of the job sent 16 bytes where 8 were "
               "expected; the calls do not match (weft_wait)");
        EXPECT(weft_start(&request) == WEFT_BROKEN_MESSAGE);
        weft_request other = WEFT_REQUEST_NULL;
        EXPECT(weft_schedule_init(builder.schedule, sent, &received, WEFT_INT64, WEFT_OP_NULL,
                                  &other) == WEFT_BROKEN_MESSAGE);
        EXPECT(other == WEFT_REQUEST_NULL);
        EXPECT(weft_schedule_check(builder.schedule) == WEFT_BROKEN_MESSAGE);
    }
    free_request(request);
    builder.free();
    EXPECT(weft_comm_free(&pair) == WEFT_OK);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 3);
    setenv("WEFT_ENGINE", argv[1], 1);
    join_job();
    const std::pair<std::string_view, void (*)(weft_comm)> cases[] = {
        {"ring_shift", ring_shift},
        {"binomial_bcast", binomial_bcast},
        {"pipeline", pipeline},
        {"operand_order", operand_order},
        {"calls", calls},
        {"lifetimes", lifetimes},
        {"growth", [](weft_comm world) { growth(world, 600); }},
        {"growth_in_short", [](weft_comm world) { growth(world, 150); }},
        {"flaws", flaws},
        {"mismatch", mismatch},
    };
    const auto* const found = std::ranges::find(cases, std::string_view(argv[2]),
                                                [](const auto& one) { return one.first; });
    EXPECT(found != std::end(cases));
    run_here_or_in_fibers(found->second);
    EXPECT(weft_finalize() == WEFT_OK);
    return 0;
}
