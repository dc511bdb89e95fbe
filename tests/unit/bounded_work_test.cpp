// A call of the executor does a bounded amount of work, and functions of the program run without the
// engine's lock.
#include <sys/resource.h>

#include "base/clock.h"
#include "base/user_code.h"
#include "engine/engine.h"
#include "run/executor.h"
#include "run/tagged_message.h"
#include "schedule/builder.h"
#include "support/float_states.h"
#include "support/in_call.h"
#include "support/test.h"

namespace weft::test::bounded_work_test {

constexpr std::int64_t second_ns = 1'000'000'000;

Schedule seal(ScheduleBuilder& builder) {
    Result<Schedule> sealed = builder.seal();
    EXPECT_TRUE(sealed.is_ok()) << last_detail();
    return std::move(*sealed);
}

Schedule one_copy(std::int64_t bytes) {
    ScheduleBuilder builder(0, 1);
    builder.copy({Buffer::send, 0, bytes}, {Buffer::recv, 0, bytes});
    return seal(builder);
}

// `from` lies in the second half of the receive buffer.
Schedule one_reduction(std::int64_t bytes, bool is_right) {
    ScheduleBuilder builder(0, 1);
    const Region from{Buffer::recv, bytes, bytes};
    const Region into{Buffer::recv, 0, bytes};
    if (is_right)
        builder.reduce_right(from, into);
    else
        builder.reduce(from, into);
    return seal(builder);
}

Schedule one_call() {
    ScheduleBuilder builder(0, 1);
    builder.call({Buffer::recv, 0, 8}, 0);
    return seal(builder);
}

// An executor of one rank, without transports.
struct Alone {
    Executor executor{0, {}, {nullptr}};
    Group group;
    Stream stream{group, 0};

    Alone() {
        group.context = 1;
        group.members = {0};
        executor.add_group(group);
    }
    void start(weft::Run& run, const Binding& binding) { executor.start(run, stream, binding); }
};

// Calls of progress() until the run is done.
int calls_until_done(Executor& executor, const weft::Run& run) {
    int calls = 0;
    for (; !run.is_done() && calls < 10'000; ++calls) {
        EXPECT_TRUE(executor.has_work());
        EXPECT_TRUE(executor.progress());
    }
    return calls;
}

TEST(BoundedWork, ALargeCopyTakesSeveralCalls) {
    const std::int64_t bytes = (4 << 20) + 13;
    std::vector<std::byte> from(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
    std::vector<std::byte> into(from.size());
    const Schedule schedule = one_copy(bytes);
    weft::Run run(schedule);
    Alone alone;
    for (int repetition = 0; repetition < 2; ++repetition) {
        std::ranges::fill(into, std::byte{0});
        alone.start(run, {.send = from.data(), .recv = into.data(), .reduction = {}});
        EXPECT_FALSE(run.is_done());
        EXPECT_GE(calls_until_done(alone.executor, run), 10);
        EXPECT_EQ(into, from);
        EXPECT_FALSE(alone.executor.has_work());
    }
}

TEST(BoundedWork, AReductionIsCutBetweenElements) {
    struct Case {
        weft_op op;
        weft_type type;
    };
    for (const Case& c : {Case{WEFT_BXOR, WEFT_BYTE}, Case{WEFT_SUM, WEFT_INT16},
                          Case{WEFT_MAXLOC, WEFT_FLOAT64_INT32}, Case{WEFT_SUM, WEFT_FLOAT64}}) {
        for (bool is_right : {false, true}) {
            const Reduction reduction = *bind_reduction(c.op, c.type);
            // Not a multiple of any piece.
            const std::size_t bytes = (1 << 20) + 3 * reduction.element_bytes;
            std::vector<std::byte> data(2 * bytes);
            for (std::size_t i = 0; i < data.size(); ++i)
                data[i] = static_cast<std::byte>((i * 31 + i / 7) % 61);
            std::vector<std::byte> expected = data;
            if (is_right)
                reduction.apply_right(&expected[bytes], expected.data(), bytes);
            else
                reduction.apply(&expected[bytes], expected.data(), bytes);
            const Schedule schedule = one_reduction(static_cast<std::int64_t>(bytes), is_right);
            weft::Run run(schedule);
            Alone alone;
            alone.start(run, {.recv = data.data(), .reduction = reduction});
            EXPECT_GE(calls_until_done(alone.executor, run), 2);
            expected.resize(bytes);
            data.resize(bytes);
            EXPECT_EQ(data, expected) << type_name(c.type) << (is_right ? " right" : "");
        }
    }
}

TEST(BoundedWork, AScalingIsCutBetweenElements) {
    Reduction average = *bind_reduction(WEFT_AVG, WEFT_FLOAT32);
    average.factor = 3;
    constexpr std::size_t count = (1 << 18) + 3;
    std::vector<float> data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<float>(i);
    ScheduleBuilder builder(0, 1);
    const Region all{Buffer::recv, 0, count * sizeof(float)};
    builder.scale(all, all);
    const Schedule schedule = *builder.seal();
    weft::Run run(schedule);
    Alone alone;
    alone.start(run, {.recv = reinterpret_cast<std::byte*>(data.data()), .reduction = average});
    EXPECT_GE(calls_until_done(alone.executor, run), 2);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[i], static_cast<float>(i) / 3) << i;
}

TEST(BoundedWork, AnotherRunDoesNotWaitForALargeOne) {
    std::vector<std::byte> from(64 << 20);
    std::vector<std::byte> into(from.size());
    const Schedule large = one_copy(static_cast<std::int64_t>(from.size()));
    const Schedule small = one_copy(8);
    weft::Run large_run(large);
    weft::Run small_run(small);
    Alone alone;
    Stream other{alone.group, 1};
    std::byte place[8];
    alone.start(large_run, {.send = from.data(), .recv = into.data(), .reduction = {}});
    alone.executor.start(small_run, other, {.send = from.data(), .recv = place, .reduction = {}});
    for (int calls = 0; calls < 2 && !small_run.is_done(); ++calls) alone.executor.progress();
    EXPECT_TRUE(small_run.is_done());
    EXPECT_FALSE(large_run.is_done());
    calls_until_done(alone.executor, large_run);
}

// --- Messages to the rank itself ------------------------------------------------------------------

// Both ends of a message of an executor of one rank.
struct ToItself {
    explicit ToItself(std::size_t bytes) : from(bytes), into(bytes) {
        for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
        prepare(send, from);
        prepare(receive, into);
        send.message()->sends = true;
    }
    static Schedule join_alone() {
        ScheduleBuilder builder(0, 1);
        builder.join({});
        return seal(builder);
    }
    static void prepare(weft::Run& run, std::vector<std::byte>& data) {
        run.make_message();
        TaggedMessage& message = *run.message();
        message.stream = stream_of_tag(1, 0);
        message.peer = 0;
        message.data = data.data();
        message.bytes = data.size();
    }
    void start(Alone& alone) {
        std::ranges::fill(into, std::byte{0});
        alone.executor.start_message(send, alone.stream);
        alone.executor.start_message(receive, alone.stream);
    }
    bool is_done() const { return send.is_done() && receive.is_done(); }

    std::vector<std::byte> from;
    std::vector<std::byte> into;
    const Schedule schedule = join_alone();
    weft::Run send{schedule};
    weft::Run receive{schedule};
};

TEST(BoundedWork, ALargeMessageToTheRankItselfTakesSeveralCalls) {
    Alone alone;
    ToItself message((4 << 20) + 13);
    for (int repetition = 0; repetition < 2; ++repetition) {
        message.start(alone);
        EXPECT_EQ(message.into.back(), std::byte{0}) << "copied in the start";
        EXPECT_GE(calls_until_done(alone.executor, message.receive), 10);
        EXPECT_EQ(message.into, message.from);
        EXPECT_TRUE(message.send.is_done());
        EXPECT_FALSE(alone.executor.has_work());
    }
}

TEST(BoundedWork, ManyMessagesToTheRankItselfTakeSeveralCalls) {
    Alone alone;
    std::vector<std::unique_ptr<ToItself>> messages;
    for (int i = 0; i < 512; ++i) {
        messages.push_back(std::make_unique<ToItself>(8 * 1024));
        messages.back()->start(alone);
    }
    EXPECT_GE(calls_until_done(alone.executor, messages.back()->receive), 10);
    for (const auto& message : messages) EXPECT_EQ(message->into, message->from);
}

TEST(BoundedWork, AMessageToTheRankItselfEndsInTheMiddleWithItsGroup) {
    Alone alone;
    ToItself message(4 << 20);
    message.start(alone);
    EXPECT_TRUE(alone.executor.progress());
    EXPECT_FALSE(message.send.is_done() || message.receive.is_done());
    alone.executor.break_group(alone.group, {.code = WEFT_BROKEN_ABORT, .rank = 0});
    EXPECT_TRUE(message.is_done());
    EXPECT_EQ(message.receive.failure().code, WEFT_BROKEN_ABORT);
    EXPECT_FALSE(alone.executor.has_work());
    std::ranges::fill(message.into, std::byte{1});
    alone.executor.progress();
    EXPECT_EQ(std::ranges::count(message.into, std::byte{1}), 4 << 20);
}

// A function that does what a test wants.
struct Function {
    std::function<void()> body = {};
    int calls = 0;
    UserCall call{[](void*, std::size_t, void* context) {
                      auto& self = *static_cast<Function*>(context);
                      ++self.calls;
                      if (self.body) self.body();
                  },
                  this};

    Function() = default;
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;
};

// Knows whether it is given up.
class Watched final : public Exclusion {
  public:
    bool is_held = true;
    void call_without(void (*function)(void*), void* context) override {
        is_held = false;
        function(context);
        is_held = true;
    }
    void call_with(void (*function)(void*), void* context) override {
        EXPECT_FALSE(std::exchange(is_held, true));
        function(context);
        is_held = false;
    }
};

TEST(BoundedWork, AFunctionRunsInNoStartAndWithoutTheExclusion) {
    Alone alone;
    Watched exclusion;
    alone.executor.set_exclusion(exclusion);
    Function function;
    function.body = [&] { EXPECT_FALSE(exclusion.is_held); };
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    std::byte place[8]{};
    alone.start(run, {.recv = place, .reduction = {}, .calls = &function.call});
    EXPECT_EQ(function.calls, 0);
    EXPECT_FALSE(alone.executor.progress(Callable::none));
    EXPECT_EQ(function.calls, 0);
    EXPECT_TRUE(alone.executor.has_ready());
    EXPECT_TRUE(alone.executor.progress());
    EXPECT_EQ(function.calls, 1);
    EXPECT_TRUE(run.is_done());
    EXPECT_FALSE(alone.executor.has_work());
}

TEST(BoundedWork, AUsersReductionRunsWithoutTheExclusion) {
    Alone alone;
    Watched exclusion;
    alone.executor.set_exclusion(exclusion);
    Reduction reduction;
    reduction.user = [](const void*, void* inout, std::size_t, weft_type, void* context) {
        EXPECT_FALSE(static_cast<Watched*>(context)->is_held);
        *static_cast<std::byte*>(inout) = std::byte{7};
    };
    reduction.user_context = &exclusion;
    for (bool is_right : {false, true}) {
        const Schedule schedule = one_reduction(8, is_right);
        weft::Run run(schedule);
        std::byte data[16]{};
        alone.start(run, {.recv = data, .reduction = reduction});
        EXPECT_EQ(data[0], std::byte{0});
        alone.executor.progress();
        EXPECT_TRUE(run.is_done());
        EXPECT_EQ(data[0], std::byte{7});
    }
}

TEST(BoundedWork, AConfinedFunctionIsNoWorkForThreadsThatMayNotCallIt) {
    Alone alone;
    int calls = 0;
    Reduction reduction;
    reduction.user = [](const void*, void*, std::size_t, weft_type, void* context) {
        ++*static_cast<int*>(context);
    };
    reduction.user_context = &calls;
    reduction.is_confined = true;
    const Schedule schedule = one_reduction(8, false);
    weft::Run run(schedule);
    std::byte data[16]{};
    alone.start(run, {.recv = data, .reduction = reduction});
    for (const Callable callable : {Callable::none, Callable::unconfined}) {
        EXPECT_FALSE(alone.executor.progress(callable));
        EXPECT_TRUE(alone.executor.has_confined());
        EXPECT_FALSE(alone.executor.has_ready());
        EXPECT_FALSE(alone.executor.has_work());
        EXPECT_TRUE(alone.executor.is_pending());
    }
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(alone.executor.progress());
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(run.is_done());
    EXPECT_FALSE(alone.executor.has_confined());
}

TEST(BoundedWork, AGroupThatBreaksEndsItsRunAfterTheFunction) {
    Alone alone;
    Watched exclusion;
    alone.executor.set_exclusion(exclusion);
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    weft::Run other(schedule);
    Function function;
    Function never;
    function.body = [&] {
        alone.executor.break_group(alone.group, {.code = WEFT_BROKEN_TIMEOUT, .rank = 0});
        EXPECT_FALSE(run.is_done());
        EXPECT_TRUE(other.is_done());
        EXPECT_FALSE(alone.executor.progress());  // as another thread might
        EXPECT_FALSE(run.is_done());
    };
    std::byte place[8]{};
    alone.start(run, {.recv = place, .reduction = {}, .calls = &function.call});
    alone.start(other, {.recv = place, .reduction = {}, .calls = &never.call});
    alone.executor.progress();
    EXPECT_TRUE(run.is_done());
    EXPECT_EQ(run.failure().code, WEFT_BROKEN_TIMEOUT);
    EXPECT_EQ(other.failure().code, WEFT_BROKEN_TIMEOUT);
    EXPECT_EQ(function.calls, 1);
    EXPECT_EQ(never.calls, 0);
    EXPECT_EQ(alone.executor.active(), 0u);
    EXPECT_FALSE(alone.executor.has_ready());
}

TEST(BoundedWork, AFunctionThatThrowsBreaksItsGroup) {
    for (const bool is_exclusive : {true, false}) {
        Alone alone;
        Watched exclusion;
        if (is_exclusive) alone.executor.set_exclusion(exclusion);
        const Schedule schedule = one_call();
        weft::Run run(schedule);
        weft::Run other(schedule);
        Function thrower;
        Function never;
        thrower.body = [] { throw std::bad_alloc(); };
        std::byte place[8]{};
        alone.start(run, {.recv = place, .reduction = {}, .calls = &thrower.call});
        alone.start(other, {.recv = place, .reduction = {}, .calls = &never.call});
        EXPECT_TRUE(alone.executor.progress());
        EXPECT_TRUE(run.is_done());
        EXPECT_EQ(run.failure().code, WEFT_BROKEN_FUNCTION);
        EXPECT_EQ(run.failure().rank, 0);
        EXPECT_EQ(other.failure().code, WEFT_BROKEN_FUNCTION);
        EXPECT_EQ(thrower.calls, 1);
        EXPECT_EQ(never.calls, 0);
        EXPECT_EQ(alone.executor.active(), 0u);
        EXPECT_FALSE(alone.executor.has_ready());
        EXPECT_FALSE(in_user_code);
    }
}

// Keeps functions until a test performs them.
class Kept final : public FunctionHost {
  public:
    explicit Kept(Watched& exclusion) : exclusion_(exclusion) {}
    std::vector<FunctionCall*> calls;
    void take(FunctionCall& call) override { calls.push_back(&call); }
    void drop(FunctionCall& call) override { EXPECT_EQ(std::erase(calls, &call), 1u); }
    FunctionCall& begin(Executor& executor) {
        FunctionCall& call = *calls.front();
        calls.erase(calls.begin());
        executor.begin_function(call);
        return call;
    }
    void perform(Executor& executor, FunctionCall& call) {
        exclusion_.is_held = false;
        executor.perform(call);
        exclusion_.is_held = true;
    }

  private:
    Watched& exclusion_;
};

struct Apart {
    Apart() { alone.executor.set_exclusion(exclusion); }
    void start(weft::Run& run, Function& function) {
        run.set_function_host(&host);
        alone.start(run, {.recv = place, .reduction = {}, .calls = &function.call});
    }

    Alone alone;
    Watched exclusion;
    Kept host{exclusion};
    std::byte place[8]{};
};

TEST(FunctionsApart, ArePendingUntilTheyHaveReturned) {
    Apart apart;
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    Function function;
    function.body = [&] { EXPECT_FALSE(apart.exclusion.is_held || in_user_code); };
    for (int round = 1; round <= 2; ++round) {
        const std::uint64_t happened = apart.alone.executor.happened();
        apart.start(run, function);
        EXPECT_EQ(apart.host.calls.size(), 1u);
        EXPECT_EQ(apart.alone.executor.happened(), happened + 1);
        EXPECT_FALSE(apart.alone.executor.progress());
        EXPECT_FALSE(apart.alone.executor.has_work());
        FunctionCall& call = apart.host.begin(apart.alone.executor);
        EXPECT_FALSE(apart.alone.executor.progress() || run.is_done());
        apart.host.perform(apart.alone.executor, call);
        EXPECT_TRUE(run.is_done());
        EXPECT_EQ(run.failure().code, WEFT_OK);
        EXPECT_EQ(function.calls, round);
    }
}

TEST(FunctionsApart, OfABrokenGroupEndTheirRunAfterwardsOrNeverBegin) {
    Apart apart;
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    weft::Run other(schedule);
    Function function;
    Function never;
    function.body = [&] {
        apart.alone.executor.break_group(apart.alone.group,
                                         {.code = WEFT_BROKEN_TIMEOUT, .rank = 0});
        EXPECT_FALSE(run.is_done());
        EXPECT_TRUE(other.is_done() && apart.host.calls.empty());
    };
    apart.start(run, function);
    FunctionCall& call = apart.host.begin(apart.alone.executor);
    apart.start(other, never);
    EXPECT_EQ(apart.host.calls.size(), 1u);
    apart.host.perform(apart.alone.executor, call);
    EXPECT_TRUE(run.is_done());
    EXPECT_EQ(run.failure().code, WEFT_BROKEN_TIMEOUT);
    EXPECT_EQ(other.failure().code, WEFT_BROKEN_TIMEOUT);
    EXPECT_EQ(never.calls, 0);
    EXPECT_EQ(apart.alone.executor.active(), 0u);
}

TEST(FunctionsApart, BreakTheirGroupIfTheyThrow) {
    Apart apart;
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    Function thrower;
    thrower.body = [] { throw std::bad_alloc(); };
    apart.start(run, thrower);
    apart.host.perform(apart.alone.executor, apart.host.begin(apart.alone.executor));
    EXPECT_TRUE(run.is_done());
    EXPECT_EQ(run.failure().code, WEFT_BROKEN_FUNCTION);
    EXPECT_EQ(run.failure().rank, 0);
}

TEST(FunctionsApart, AreTheDriversWhenTheirHostEnds) {
    Apart apart;
    const Schedule schedule = one_call();
    weft::Run run(schedule);
    Function function;
    apart.start(run, function);
    apart.alone.executor.run_functions_inline(apart.host);
    EXPECT_TRUE(apart.host.calls.empty());
    EXPECT_EQ(function.calls, 0);
    EXPECT_TRUE(apart.alone.executor.progress());
    EXPECT_EQ(function.calls, 1);
    EXPECT_TRUE(run.is_done());
}

class Functions : public testing::TestWithParam<EngineKind> {
  protected:
    void start(weft::Run& run, Stream& stream, const Binding& binding) {
        InCall in_call(engine_);
        engine_.start(run, stream, binding, nullptr, /*waits=*/false);
    }
    bool finish(const weft::Run& run) {
        InCall in_call(engine_);
        return engine_.wait_until([&] { return run.is_done(); },
                                  {.deadline_ns = now_ns() + 20 * second_ns}) == WEFT_OK;
    }
    static bool comes_true(const std::atomic<bool>& condition) {
        const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
        while (!condition && now_ns() < deadline_ns) std::this_thread::yield();
        return condition;
    }

    Alone alone_;
    Stream other_stream_{alone_.group, 1};
    Engine engine_{alone_.executor, {.kind = GetParam()}};
    const Schedule schedule_ = one_call();
    std::byte place_[8]{};
};

INSTANTIATE_TEST_SUITE_P(Engines, Functions,
                         testing::Values(EngineKind::manual, EngineKind::thread,
                                         EngineKind::thread_poll),
                         [](const auto& kind) {
                             std::string name = traits(kind.param).name;
                             std::ranges::replace(name, ':', '_');
                             return name;
                         });

// One that blocks until another operation has completed.
TEST_P(Functions, DoNotHoldUpOtherOperations) {
    for (bool is_waited_for : {true, false}) {
        if (!is_waited_for && GetParam() == EngineKind::manual) continue;
        std::atomic<bool> runs{false};
        std::atomic<bool> may_return{false};
        Function blocking;
        blocking.body = [&] {
            runs = true;
            EXPECT_TRUE(comes_true(may_return)) << "the other operation was held up";
        };
        Function quick;
        weft::Run first(schedule_);
        weft::Run second(schedule_);
        start(first, alone_.stream, {.recv = place_, .reduction = {}, .calls = &blocking.call});
        std::thread waiter;
        if (is_waited_for) waiter = std::thread([&] { EXPECT_TRUE(finish(first)); });
        EXPECT_TRUE(comes_true(runs));
        start(second, other_stream_, {.recv = place_, .reduction = {}, .calls = &quick.call});
        EXPECT_TRUE(finish(second));
        may_return = true;
        if (waiter.joinable()) waiter.join();
        EXPECT_TRUE(finish(first));
        EXPECT_TRUE(finish(second));
        EXPECT_EQ(quick.calls, 1);
    }
}

// In whichever thread it runs, the program goes on.
TEST_P(Functions, MayThrow) {
    Function thrower;
    std::atomic<bool> throws = false;
    thrower.body = [&] {
        throws = true;
        throw std::runtime_error("no");
    };
    weft::Run run(schedule_);
    start(run, alone_.stream, {.recv = place_, .reduction = {}, .calls = &thrower.call});
    if (traits(GetParam()).has_thread()) {
        EXPECT_TRUE(comes_true(throws));
    }
    ASSERT_TRUE(finish(run));
    EXPECT_EQ(run.failure().code, WEFT_BROKEN_FUNCTION);
    EXPECT_EQ(thrower.calls, 1);
}

// Threads that wait for different operations lead by turns; the last to wait must not be forgotten.
TEST_P(Functions, OfSeveralThreadsRunAtTheSameTime) {
    constexpr int threads = 3;
    constexpr int rounds = 50;
    std::atomic<int> calls{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            Stream stream(alone_.group, static_cast<std::uint32_t>(2 + t));
            Function function;
            function.body = [&] {
                ++calls;
                std::this_thread::yield();
            };
            weft::Run run(schedule_);
            std::byte place[8]{};
            for (int round = 0; round < rounds; ++round) {
                start(run, stream, {.recv = place, .reduction = {}, .calls = &function.call});
                ASSERT_TRUE(finish(run));
            }
            EXPECT_EQ(function.calls, rounds);
        });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(calls, threads * rounds);
}

// A start beside a large reduction gets the engine between two pieces of it.
TEST_P(Functions, AndLargeWorkLetOthersStart) {
    std::vector<std::byte> data(256 << 20);
    const Schedule large = one_reduction(static_cast<std::int64_t>(data.size() / 2), false);
    weft::Run large_run(large);
    start(large_run, alone_.stream,
          {.recv = data.data(), .reduction = *bind_reduction(WEFT_SUM, WEFT_FLOAT64)});
    std::thread waiter([&] { EXPECT_TRUE(finish(large_run)); });
    Function quick;
    weft::Run small_run(schedule_);
    int beside_it = 0;
    for (int i = 0; i < 3; ++i) {
        start(small_run, other_stream_, {.recv = place_, .reduction = {}, .calls = &quick.call});
        EXPECT_TRUE(finish(small_run));
        InCall in_call(engine_);
        beside_it += !large_run.is_done();
    }
    waiter.join();
    EXPECT_GT(beside_it, 0);
}

// Two functions, each of which waits until the other runs.
TEST_P(Functions, RunWhileOthersRun) {
    std::atomic<int> running{0};
    std::atomic<bool> both{false};
    Function functions[2];
    for (Function& function : functions) {
        function.body = [&] {
            if (++running == 2) both = true;
            EXPECT_TRUE(comes_true(both));
        };
    }
    std::vector<std::thread> all;
    for (std::uint32_t t = 0; t < 2; ++t) {
        all.emplace_back([&, t] {
            Stream stream(alone_.group, 2 + t);
            weft::Run run(schedule_);
            std::byte place[8]{};
            start(run, stream, {.recv = place, .reduction = {}, .calls = &functions[t].call});
            EXPECT_TRUE(finish(run));
        });
    }
    for (std::thread& thread : all) thread.join();
}

// The progress thread runs the function, and the program has fallen asleep when it returns.
TEST_P(Functions, WithLargeWorkBehindThemDoNotStopWhereNobodyDrives) {
    ScheduleBuilder builder(0, 1);
    const OpId called = builder.call({Buffer::recv, 0, 8}, 0);
    builder.copy({Buffer::send, 0, 4 << 20}, {Buffer::recv, 0, 4 << 20}, {called});
    const Schedule schedule = seal(builder);
    weft::Run run(schedule);
    std::vector<std::byte> from(4 << 20, std::byte{3});
    std::vector<std::byte> into(from.size());
    std::atomic<bool> runs{false};
    Function function;
    function.body = [&] {
        runs = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    start(run, alone_.stream,
          {.send = from.data(), .recv = into.data(), .reduction = {}, .calls = &function.call});
    const bool has_thread = traits(GetParam()).has_thread();
    EXPECT_TRUE(!has_thread || comes_true(runs));
    EXPECT_TRUE(finish(run));
    EXPECT_EQ(into, from);
}

// Where the program's first thread has no limit, others have 2 or 8 MiB by default.
TEST_P(Functions, MayHaveLargeArraysInTheProgressThread) {
    if (!traits(GetParam()).has_thread()) GTEST_SKIP() << "there is no such thread";
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_STACK, &before), 0);
    if (before.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "its stack is limited";
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_STACK, &none), 0);
    std::atomic<bool> has_run{false};
    Function function;
    function.body = [&] {
        volatile char large[64 << 20];
        for (std::size_t i = sizeof large; i > 0; i -= 4096) large[i - 1] = 1;
        has_run = large[4095] == 1;
    };
    weft::Run run(schedule_);
    start(run, alone_.stream, {.recv = place_, .reduction = {}, .calls = &function.call});
    EXPECT_TRUE(comes_true(has_run));
    EXPECT_TRUE(finish(run));
    EXPECT_EQ(setrlimit(RLIMIT_STACK, &before), 0);
}

// The progress thread starts with the state of the thread that starts it.
TEST_P(Functions, RunInTheDefaultStateOfFloatingPointArithmetic) {
    for (int state = 0; state < float_states; ++state) {
        std::atomic<bool> has_run{false};
        FloatState seen[2];
        Function function;
        function.body = [&] {
            seen[0] = float_state();
            set_float_state(0);
            seen[1] = float_state();
            set_float_state((state + 1) % float_states);
            has_run = true;
        };
        weft::Run run(schedule_);
        set_float_state(state);
        const FloatState before = float_state();
        start(run, alone_.stream, {.recv = place_, .reduction = {}, .calls = &function.call});
        EXPECT_TRUE(!traits(GetParam()).has_thread() || comes_true(has_run));
        EXPECT_TRUE(finish(run));
        const FloatState after = float_state();
        set_float_state(0);
        EXPECT_TRUE(seen[0].has_equal_control(seen[1])) << "state " << state;
        EXPECT_TRUE(after.has_equal_control(before)) << "state " << state;
    }
}

// A call of a thread of the program's, or the progress thread, finds a confined function ready while another thread
// sleeps in a wait: which runs it.
TEST_P(Functions, ThatAreConfinedWakeAThreadThatSleeps) {
    struct Ran {
        std::thread::id in;
        std::atomic<bool> has{false};
    } ran;
    Reduction reduction;
    reduction.user = [](const void*, void*, std::size_t, weft_type, void* context) {
        auto& here = *static_cast<Ran*>(context);
        here.in = std::this_thread::get_id();
        here.has = true;
    };
    reduction.user_context = &ran;
    reduction.is_confined = true;
    const Schedule schedule = one_reduction(8, false);
    weft::Run run(schedule);
    std::byte data[16]{};
    std::atomic<bool> waits{false};
    std::thread sleeper([&] {
        InCall in_call(engine_);
        waits = true;
        // Ends by the interrupt.
        EXPECT_EQ(
            engine_.wait_until([] { return false; }, {.deadline_ns = now_ns() + 60 * second_ns}),
            WEFT_INTERRUPTED);
    });
    EXPECT_TRUE(comes_true(waits));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start(run, alone_.stream, {.recv = data, .reduction = reduction});
    EXPECT_TRUE(comes_true(ran.has)) << "nobody was woken";
    const std::thread::id expected = sleeper.get_id();
    EXPECT_TRUE(finish(run));
    engine_.interrupt();
    sleeper.join();
    EXPECT_EQ(ran.in, expected);
}

// The leader runs another thread's function. That thread leads meanwhile, and sleeps.
TEST_P(Functions, OfAThreadThatSleepsWakeIt) {
    std::atomic<bool> runs{false};
    std::atomic<bool> may_sleep{false};
    Function function;
    function.body = [&] {
        runs = true;
        EXPECT_TRUE(comes_true(may_sleep));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    weft::Run run(schedule_);
    std::thread leader([&] {
        InCall in_call(engine_);
        // Ends by the interrupt, if the other thread is woken.
        EXPECT_EQ(
            engine_.wait_until([] { return false; }, {.deadline_ns = now_ns() + 20 * second_ns}),
            WEFT_INTERRUPTED);
    });
    start(run, alone_.stream, {.recv = place_, .reduction = {}, .calls = &function.call});
    EXPECT_TRUE(comes_true(runs));
    may_sleep = true;
    EXPECT_TRUE(finish(run));
    engine_.interrupt();
    leader.join();
}

}  // namespace weft::test::bounded_work_test
