// The progress engine over a transport that does what a test wants.
#include "engine/engine.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <deque>

#include "base/clock.h"
#include "base/cores.h"
#include "engine/completion_queue.h"
#include "engine/parking.h"
#include "schedule/builder.h"
#include "support/in_call.h"
#include "support/test.h"

namespace weft::test::engine_test {

constexpr std::int64_t second_ns = 1'000'000'000;

// Moves nothing, but can look busy.
class FakeTransport : public Transport {
  public:
    std::atomic<bool> always_moves{false};
    std::atomic<int> work{0};  // polls until all is done
    std::thread::id caller;    // whose polls are counted; with the engine held
    int polls_of_caller = 0;
    std::function<void()> when_polled;

    const char* name() const override { return "fake"; }
    Abilities abilities() const override { return {}; }
    Posted post_send(const Lane&, Bytes, Token) override { return Posted::pending; }
    Posted post_recv(const Lane&, MutBytes, Token) override { return Posted::pending; }
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }
    std::size_t poll(std::span<Completion>) override {
        if (work > 0) --work;
        if (std::this_thread::get_id() == caller) ++polls_of_caller;
        if (always_moves) ++pieces_;
        if (when_polled) when_polled();
        return 0;
    }
    bool arm(Sleeper sleeper) override { return sleeper == Sleeper::none || work == 0; }
    std::uint64_t pieces_moved() const override { return pieces_; }
    bool has_work() const override { return work > 0; }
    void cancel_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}

  private:
    std::uint64_t pieces_ = 0;
};

// Has work that ends, with no run, when another thread polls while the program sleeps in a wait. That
// thread is woken then, the program is not.
class WorkEndedByAnother final : public Transport {
  public:
    bool begins = true;                   // with the engine held
    Sleeper armed_for = Sleeper::waiter;  // while the program sleeps
    std::vector<Sleeper> armed{};

    const char* name() const override { return "work ended by another"; }
    Abilities abilities() const override { return {.can_sleep = true}; }
    Posted post_send(const Lane&, Bytes, Token) override { return Posted::pending; }
    Posted post_recv(const Lane&, MutBytes, Token) override { return Posted::pending; }
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }
    std::size_t poll(std::span<Completion>) override {
        if (program_sleeps_ && std::this_thread::get_id() != program_) has_work_ = false;
        return 0;
    }
    int wait_fd(Sleeper sleeper) const override {
        return sleeper == Sleeper::thread ? thread_wake_.fd() : waiter_wake_.fd();
    }
    bool arm(Sleeper sleeper) override {
        if (begins && sleeper != Sleeper::none) armed.push_back(sleeper);
        program_sleeps_ = begins && sleeper == armed_for;
        if (program_sleeps_) thread_wake_.signal();
        return true;
    }
    void acknowledge(Sleeper sleeper) override {
        if (sleeper == Sleeper::thread) thread_wake_.clear();
    }
    bool has_work() const override { return has_work_; }
    void cancel_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}

  private:
    const std::thread::id program_ = std::this_thread::get_id();
    Wake thread_wake_;
    Wake waiter_wake_;
    bool has_work_ = true;
    bool program_sleeps_ = false;
};

class EngineTest : public testing::Test {
  protected:
    void make(EngineKind kind, std::int64_t timeout_ns = Engine::no_deadline) {
        engine_ = std::make_unique<Engine>(executor_,
                                           Engine::Options{.kind = kind, .timeout_ns = timeout_ns});
    }
    weft_status wait(const std::atomic<bool>& done, std::int64_t deadline_ns) {
        InCall in_call(*engine_);
        return engine_->wait_until([&] { return done.load(); }, {.deadline_ns = deadline_ns});
    }

    bool somebody_does_the_work() const {
        const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
        while (transport_.work > 0 && now_ns() < deadline_ns) std::this_thread::yield();
        return transport_.work == 0;
    }

    FakeTransport transport_;
    Executor executor_{0, {&transport_}, {nullptr}};
    std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, ADeadlineEndsAWaitBesideOneThatIsAlwaysBusy) {
    make(EngineKind::manual);
    transport_.always_moves = true;
    std::atomic<bool> leads{false};
    std::atomic<bool> followed{false};
    std::thread leader([&] {
        InCall in_call(*engine_);
        // Ends on time also when the follower does not get back in.
        EXPECT_EQ(engine_->wait_until(
                      [&] {
                          leads = true;
                          return followed.load();
                      },
                      {.deadline_ns = now_ns() + 20 * second_ns}),
                  WEFT_OK);
    });
    while (!leads) std::this_thread::yield();
    const std::atomic<bool> never{false};
    EXPECT_EQ(wait(never, now_ns() + second_ns / 100), WEFT_TIMED_OUT);
    followed = true;
    leader.join();
}

TEST_F(EngineTest, ATimeoutEndsWaitsThatHaveNoDeadlineOfTheirOwn) {
    make(EngineKind::manual, second_ns / 100);
    const std::atomic<bool> never{false};
    EXPECT_EQ(wait(never, Engine::no_deadline), WEFT_TIMED_OUT);
    const std::atomic<bool> already{true};
    EXPECT_EQ(wait(already, Engine::no_deadline), WEFT_OK);
    // One with a deadline lasts until then, also when that is later.
    const std::int64_t deadline_ns = now_ns() + second_ns / 10;
    EXPECT_EQ(wait(never, deadline_ns), WEFT_TIMED_OUT);
    EXPECT_GE(now_ns(), deadline_ns);
}

// The sends of others may wait for it.
TEST_F(EngineTest, ASpinningThreadDoesWhatEndedOperationsStillOwe) {
    make(EngineKind::thread_poll);
    {
        InCall in_call(*engine_);
        transport_.work = 1;
    }
    EXPECT_TRUE(somebody_does_the_work());
}

// A start or test does not take as long as a message does.
TEST_F(EngineTest, ACallLeavesLongWorkToTheThread) {
    make(EngineKind::thread);
    constexpr int long_work = 1'000'000;
    {
        InCall in_call(*engine_);
        transport_.work = long_work;
        transport_.caller = std::this_thread::get_id();
    }
    EXPECT_LT(transport_.polls_of_caller, 100);
    EXPECT_TRUE(somebody_does_the_work());
}

// Instead of blocking, runs what the thread would wait for: in the same thread, so that the engine
// must not be held.
class ParkingInOneThread final : public Parking {
  public:
    std::vector<std::function<void()>> meanwhile;  // last first
    std::function<void()> in_yield;
    int parks = 0;
    int yields = 0;
    bool is_unparked = false;

    int error() const override { return 0; }
    Woken park(Sleeper, std::span<const int>, std::int64_t) override {
        ++parks;
        run_next();
        return {.by_unpark = is_unparked};
    }
    void unpark(Sleeper) override { is_unparked = true; }
    void acknowledge(Sleeper) override { is_unparked = false; }
    std::uint64_t ticket() override { return 0; }
    void park_follower(std::uint64_t, std::int64_t) override { run_next(); }
    void unpark_followers() override {}
    void yield() override {
        ++yields;
        if (in_yield) in_yield();
    }

  private:
    void run_next() {
        const std::function<void()> next = std::move(meanwhile.back());
        meanwhile.pop_back();
        next();
    }
};

TEST(Engine, AWaitBlocksByTheGivenParkingAndDoesNotHoldTheEngineMeanwhile) {
    FakeTransport transport;
    Executor executor(0, {&transport}, {nullptr});
    auto owned = std::make_unique<ParkingInOneThread>();
    ParkingInOneThread& parking = *owned;
    Engine engine(executor, {.kind = EngineKind::manual}, std::move(owned));
    bool is_done = false;
    bool is_done_by_follower = false;
    parking.meanwhile.push_back([&] {
        InCall in_call(engine);
        is_done = is_done_by_follower = true;
    });
    parking.meanwhile.push_back([&] {
        InCall in_call(engine);
        EXPECT_EQ(engine.wait_until([&] { return is_done_by_follower; }, {}), WEFT_OK);
    });
    InCall in_call(engine);
    EXPECT_EQ(engine.wait_until([&] { return is_done; }, {}), WEFT_OK);
    EXPECT_EQ(parking.parks, 1);
}

// Wakes a peer's progress thread for every message sent.
class WakingTransport final : public FakeTransport {
  public:
    bool wakes_threads = true;

    Abilities abilities() const override { return {.knows_demand = true}; }
    Posted post_send(const Lane&, Bytes, Token) override {
        has_woken_ = wakes_threads;
        return Posted::done;
    }
    bool wake_peers() override { return std::exchange(has_woken_, false); }

  private:
    bool has_woken_ = false;
};

struct Waking {
    bool has_cores;  // as many as there are ranks
    bool on_demand;
    bool wakes_threads;
};

// Starts a message to a peer, twice. Returns how often that yielded, and a test and a wait behind it.
struct Yields {
    int by_starts = 0;
    int by_others = 0;
};
Yields yields_of(const Waking& waking) {
    WakingTransport transport;
    transport.wakes_threads = waking.wakes_threads;
    Executor executor(0, {&transport}, {nullptr, &transport});
    Group group;
    group.context = 1;
    group.members = {0, 1};
    executor.add_group(group);
    Stream stream(group, 0);
    ScheduleBuilder builder(0, 2);
    builder.send({Buffer::send, 0, 8}, 1);
    const Result<Schedule> schedule = builder.seal();
    weft::Run run(*schedule);
    auto owned = std::make_unique<ParkingInOneThread>();
    const ParkingInOneThread& parking = *owned;
    Engine engine(
        executor,
        {.kind = EngineKind::manual, .may_spin = waking.has_cores, .on_demand = waking.on_demand},
        std::move(owned));
    const std::byte data[8] = {};
    Yields yields;
    for (int repetition = 0; repetition < 2; ++repetition) {
        const int before = parking.yields;
        {
            InCall in_call(engine);
            engine.start(run, stream, {.send = data, .reduction = {}}, nullptr, /*waits=*/false);
        }
        const int between = parking.yields;
        {
            InCall in_call(engine);
            engine.progress();
        }
        {
            InCall in_call(engine);
            EXPECT_EQ(engine.wait_until([&] { return run.is_done(); }, {}), WEFT_OK);
        }
        yields.by_starts += between - before;
        yields.by_others += parking.yields - between;
    }
    return yields;
}

// The thread may need the core of the rank that has woken it. If it does not work on demand, nobody may be waiting.
TEST(Engine, AStartYieldsToAPeersThreadThatWorksOnDemandWhereRanksOutnumberCores) {
    for (int bits = 0; bits < 8; ++bits) {
        const Waking waking{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        SCOPED_TRACE(testing::Message() << "has cores " << waking.has_cores << ", on demand "
                                        << waking.on_demand << ", wakes " << waking.wakes_threads);
        const Yields yields = yields_of(waking);
        const bool should = !waking.has_cores && waking.on_demand && waking.wakes_threads;
        EXPECT_EQ(yields.by_starts, should ? 2 : 0);
        EXPECT_EQ(yields.by_others, 0);
    }
}

// A large message: its next piece comes when the progress thread is about to sleep.
class PiecesTransport final : public FakeTransport {
  public:
    std::atomic<int> pieces_left{200};
    std::atomic<int> polls_in_vain{0};  // of the thread, before it would sleep; at most

    Abilities abilities() const override { return {.can_sleep = true}; }
    std::size_t poll(std::span<Completion>) override {
        if (std::this_thread::get_id() == program_) return 0;
        ++since_moved_;
        if (std::exchange(comes_, false)) {
            ++moved_;
            since_moved_ = 0;
        }
        return 0;
    }
    bool arm(Sleeper sleeper) override {
        if (sleeper != Sleeper::thread || std::this_thread::get_id() == program_) return true;
        if (moved_ > 0) polls_in_vain = std::max(polls_in_vain.load(), since_moved_);
        if (pieces_left == 0) return true;
        --pieces_left;
        comes_ = true;
        return false;
    }
    bool has_work() const override { return pieces_left > 0; }
    std::uint64_t pieces_moved() const override { return moved_; }

  private:
    const std::thread::id program_ = std::this_thread::get_id();
    bool comes_ = false;
    std::uint64_t moved_ = 0;
    int since_moved_ = 0;
};

int polls_in_vain(bool may_spin, ProgressPlace place) {
    PiecesTransport transport;
    Executor executor(0, {&transport}, {nullptr});
    Engine engine(executor,
                  {.kind = EngineKind::thread, .may_spin = may_spin, .progress_place = place});
    { InCall starts_the_thread(engine); }
    const std::int64_t end_ns = now_ns() + 20 * second_ns;
    while (transport.pieces_left > 0 && now_ns() < end_ns) std::this_thread::yield();
    EXPECT_EQ(transport.pieces_left, 0);
    return transport.polls_in_vain;
}

TEST(Engine, TheThreadSpinsWithinALargeMessageWhereThatTakesNoTimeFromOthers) {
    const std::vector<int> cores = own_cores();
    EXPECT_EQ(polls_in_vain(false, {}), 1);
    EXPECT_GT(polls_in_vain(true, {}), 1);
    EXPECT_GT(polls_in_vain(false, {.cores = cores, .has_own_core = true}), 1);
    EXPECT_EQ(polls_in_vain(true, {.cores = cores}), 1) << "several threads are on a few cores";
    EXPECT_EQ(polls_in_vain(false, {.cores = cores, .shared = cores}), 1);
}

// Shows what was demanded last.
class DemandedTransport final : public FakeTransport {
  public:
    Demand demanded = Demand::none;

    Abilities abilities() const override { return {.knows_demand = true}; }
    bool demand(Demand how) override {
        demanded = how;
        return how == Demand::wakes;
    }
};

TEST(Engine, WaitsTooShortToDemandAnythingDemandTogether) {
    for (const bool has_cores : {false, true}) {
        SCOPED_TRACE(has_cores);
        DemandedTransport transport;
        Executor executor(0, {&transport}, {nullptr});
        Engine engine(executor,
                      {.kind = EngineKind::manual, .may_spin = has_cores, .on_demand = true});
        const std::int64_t end_ns = now_ns() + 20 * second_ns;
        while (transport.demanded != Demand::wakes && now_ns() < end_ns) {
            InCall in_call(engine);
            EXPECT_EQ(engine.wait_until([] { return false; }, {.deadline_ns = now_ns()}),
                      WEFT_TIMED_OUT);
        }
        EXPECT_EQ(transport.demanded, Demand::wakes);
        { InCall does_not_wait(engine); }
        EXPECT_EQ(transport.demanded, Demand::none);
    }
}

// Shows how it is armed, and what was demanded. Completes what it is told to.
class ArmedTransport final : public FakeTransport {
  public:
    explicit ArmedTransport(bool knows_demand) : knows_demand_(knows_demand) {}

    std::string armed;
    int demands = 0;
    bool completes = false;
    std::size_t eager_bytes = SIZE_MAX;
    std::size_t buffer_bytes = SIZE_MAX;

    Abilities abilities() const override {
        return {.can_sleep = true,
                .knows_demand = knows_demand_,
                .eager_bytes = eager_bytes,
                .buffer_bytes = buffer_bytes};
    }
    int wait_fd(Sleeper) const override { return wake_.fd(); }
    Posted post_recv(const Lane&, MutBytes, Token token) override {
        token_ = token;
        return Posted::pending;
    }
    std::size_t poll(std::span<Completion> done) override {
        if (!std::exchange(completes, false)) return 0;
        done[0] = {.token = token_, .peer = 1};
        return 1;
    }
    bool arm(Sleeper sleeper) override {
        armed = sleeper == Sleeper::none ? "not" : "for all";
        return true;
    }
    bool arm_on_demand() override {
        armed = knows_demand_ ? "on demand" : "for all";
        return true;
    }
    bool demand(Demand how) override {
        demands += how != Demand::none;
        return false;
    }

  private:
    const bool knows_demand_;
    Wake wake_;
    Token token_;
};

// A leader that sleeps demands nothing more; nor does a thread that follows it, or tests beside it.
TEST(Engine, AStartBesideASleepingWaitDemandsWhatItLacks) {
    for (const bool in_one_call : {false, true}) {
        SCOPED_TRACE(in_one_call ? "start and wait in one call" : "in two calls");
        ArmedTransport transport(true);
        Executor executor(0, {&transport}, {nullptr, &transport});
        Group group;
        group.context = 1;
        group.members = {0, 1};
        executor.add_group(group);
        Stream stream(group, 0);
        ScheduleBuilder builder(0, 2);
        builder.recv({Buffer::recv, 0, 8}, 1);
        const Result<Schedule> schedule = builder.seal();
        weft::Run run(*schedule);
        std::byte data[8] = {};
        auto owned = std::make_unique<ParkingInOneThread>();
        ParkingInOneThread& parking = *owned;
        Engine engine(executor, {.kind = EngineKind::manual, .on_demand = true}, std::move(owned));
        int demands = 0;  // or the leader was woken, which demands
        bool has_started = false;
        parking.meanwhile.push_back([&] {
            demands = transport.demands + parking.is_unparked;
            transport.completes = true;
        });
        parking.meanwhile.push_back([&] {
            const auto start = [&] {
                transport.demands = 0;
                has_started = true;
                engine.start(run, stream, {.recv = data, .reduction = {}}, nullptr, in_one_call);
            };
            if (!in_one_call) {
                InCall in_call(engine);
                start();
            }
            InCall in_call(engine);
            if (in_one_call) start();
            EXPECT_EQ(engine.wait_until([&] { return transport.completes; }, {}), WEFT_OK);
        });
        InCall in_call(engine);
        EXPECT_EQ(engine.wait_until([&] { return has_started && run.is_done(); }, {}), WEFT_OK);
        EXPECT_GT(demands, 0);
    }
}

// How the progress thread is armed for so many receives of 8 bytes; empty: it is not.
struct Unattended {
    std::size_t eager_bytes = SIZE_MAX;
    std::size_t buffer_bytes = SIZE_MAX;
    std::uint64_t bridge = 0;
    std::size_t receives = 1;
};
std::string armed_for(const Unattended& what) {
    ArmedTransport transport(true);
    transport.eager_bytes = what.eager_bytes;
    transport.buffer_bytes = what.buffer_bytes;
    Executor executor(0, {&transport}, {nullptr, &transport});
    Group group;
    group.context = 1;
    group.members = {0, 1};
    group.bridge = what.bridge;
    executor.add_group(group);
    executor.group_decided();
    Stream stream(group, 0);
    ScheduleBuilder builder(0, 2);
    builder.recv({Buffer::recv, 0, 8}, 1);
    const Result<Schedule> schedule = builder.seal();
    std::deque<weft::Run> runs;
    std::byte data[8] = {};
    Engine engine(executor, {.kind = EngineKind::thread, .on_demand = true});
    InCall in_call(engine);
    transport.armed = "";
    for (std::size_t i = 0; i < what.receives; ++i)
        engine.start(runs.emplace_back(*schedule), stream, {.recv = data, .reduction = {}}, nullptr,
                     /*waits=*/false);
    engine.after_call();
    engine.before_call();
    return transport.armed;
}

// (Processes of other jobs may wait for this one and cannot demand its work.)
TEST(Engine, SmallReceivesAreLeftToTheProgramUnlessTheirSendersWait) {
    EXPECT_EQ(armed_for({}), "");
    EXPECT_EQ(armed_for({.eager_bytes = 8193, .buffer_bytes = 1 << 20, .receives = 255}), "");
    EXPECT_EQ(armed_for({.receives = 257}), "on demand");
    EXPECT_EQ(armed_for({.eager_bytes = 0}), "on demand");
    EXPECT_EQ(armed_for({.buffer_bytes = 16 * 1024, .receives = 3}), "");
    EXPECT_EQ(armed_for({.buffer_bytes = 16 * 1024, .receives = 4}), "on demand");
    EXPECT_EQ(armed_for({.bridge = 1}), "on demand");
}

// Rank 1 is on this node, rank 2 is not.
TEST(Engine, WorksOnDemandUnlessAGroupOfSeveralNodesHasSomethingPending) {
    ArmedTransport near(true);
    ArmedTransport far(false);
    Executor executor(0, {&near, &far}, {nullptr, &near, &far});
    Group groups[2];
    std::vector<Stream> streams;
    for (const Rank peer : {1, 2}) {
        Group& group = groups[peer - 1];
        group.context = static_cast<std::uint64_t>(peer);
        group.members = {0, peer};
        executor.add_group(group);
        streams.emplace_back(group, 0);
    }
    ScheduleBuilder builder(0, 2);
    builder.recv({Buffer::recv, 0, 1 << 20}, 1);
    const Result<Schedule> schedule = builder.seal();
    weft::Run near_run(*schedule);
    weft::Run far_run(*schedule);
    std::vector<std::byte> data(1 << 20);
    Engine engine(executor, {.kind = EngineKind::thread, .on_demand = true});
    const auto start = [&](weft::Run& run, Stream& stream) {
        InCall in_call(engine);
        engine.start(run, stream, {.recv = data.data(), .reduction = {}}, nullptr, false);
    };
    const auto is_armed = [&](const std::string& how) {
        const std::int64_t end_ns = now_ns() + 20 * second_ns;
        while (now_ns() < end_ns) {
            InCall in_call(engine);
            if (near.armed == how && far.armed == "for all") return true;
        }
        return false;
    };
    const auto demands_of_a_wait = [&] {
        InCall in_call(engine);
        near.demands = 0;
        EXPECT_EQ(
            engine.wait_until([] { return false; }, {.deadline_ns = now_ns() + second_ns / 50}),
            WEFT_TIMED_OUT);
        return near.demands;
    };
    start(near_run, streams[0]);
    EXPECT_TRUE(is_armed("on demand"));
    start(far_run, streams[1]);
    EXPECT_TRUE(is_armed("for all"));
    EXPECT_GT(demands_of_a_wait(), 0);
    {
        InCall in_call(engine);
        near.completes = true;
        EXPECT_EQ(engine.wait_until([&] { return near_run.is_done(); }, {}), WEFT_OK);
    }
    EXPECT_EQ(demands_of_a_wait(), 0) << "whoever works for the other one is eager";
    start(near_run, streams[0]);
    EXPECT_TRUE(is_armed("for all"));
    {
        InCall in_call(engine);
        far.completes = true;
        EXPECT_EQ(engine.wait_until([&] { return far_run.is_done(); }, {}), WEFT_OK);
    }
    EXPECT_TRUE(is_armed("on demand"));
    InCall in_call(engine);
    near.completes = true;
    EXPECT_EQ(engine.wait_until([&] { return near_run.is_done(); }, {}), WEFT_OK);
}

// Has lists in flight, which need nobody until the kernel has carried them out.
class ListsInFlight final : public Offload {
  public:
    ListsInFlight() : Offload({}, {}) {}

    Sleeper armed = Sleeper::none;
    bool wants_owner = false;  // with the engine held
    std::function<void()> when_submitted;

    const char* name() const override { return "lists"; }
    Abilities abilities() const override { return {.can_sleep = true}; }
    int wait_fd(Sleeper) const override { return wake_.fd(); }
    std::size_t poll(std::span<Completion>) override { return 0; }
    bool arm(Sleeper sleeper) override {
        armed = sleeper;
        return true;
    }
    std::uint64_t pieces_moved() const override { return 0; }
    bool has_work() const override { return false; }
    void cancel_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    Result<std::unique_ptr<Lists>> make(const Tasks&) override {
        return failure(WEFT_REFUSED_MEMORY, "none");
    }
    bool reserve(const Tasks&, const Call&) override { return false; }
    void begin(Lists&, const Call&) override {}
    Posted await(Lists&, std::uint32_t, std::uint32_t, Token) override { return Posted::pending; }
    void enable(Lists&, std::uint32_t) override {}
    void granted(std::uint32_t) override {}
    std::uint64_t broken(std::uint32_t) override { return 0; }
    bool is_busy() const override { return true; }
    bool needs_owner() const override { return wants_owner; }
    void submit() override {
        wants_owner = false;
        if (when_submitted) when_submitted();
    }
    bool needs_attention() const override { return false; }

  private:
    Wake wake_;
};

// A fiber's thread gets the signal before the kernel has taken what has come for a list.
TEST(Engine, TheThreadWatchesListsForOneThatSleepsUntilASignal) {
    ListsInFlight lists;
    FakeTransport transport;
    Executor executor(0, {&transport}, {nullptr}, &lists);
    Engine engine(executor, {.kind = EngineKind::kernel});
    {
        InCall in_call(engine);
        EXPECT_EQ(lists.armed, Sleeper::none);
        EXPECT_TRUE(engine.signal_arrivals(SIGURG).is_ok());
    }
    InCall in_call(engine);
    EXPECT_EQ(lists.armed, Sleeper::thread);
    EXPECT_TRUE(engine.signal_arrivals(0).is_ok());
}

// Nothing but an unpark or a descriptor wakes who parks here, for a long time.
class ParkingUntilWoken final : public Parking {
  public:
    std::function<void()> when_waiter_parks;

    int error() const override { return parking_->error(); }
    Woken park(Sleeper sleeper, std::span<const int> descriptors, std::int64_t timeout) override {
        if (sleeper == Sleeper::waiter && when_waiter_parks)
            std::exchange(when_waiter_parks, nullptr)();
        return parking_->park(sleeper, descriptors, std::max(timeout, 20 * second_ns));
    }
    void unpark(Sleeper sleeper) override { parking_->unpark(sleeper); }
    void acknowledge(Sleeper sleeper) override { parking_->acknowledge(sleeper); }
    std::uint64_t ticket() override { return parking_->ticket(); }
    void park_follower(std::uint64_t ticket, std::int64_t deadline_ns) override {
        parking_->park_follower(ticket, deadline_ns);
    }
    void unpark_followers() override { parking_->unpark_followers(); }
    void yield() override { parking_->yield(); }

  private:
    const std::unique_ptr<Parking> parking_ = thread_parking();
};

// A receive, of which nothing arrives, and lists of which the engine's owner is wanted.
struct ReceiveBesideLists {
    ReceiveBesideLists() { executor.add_group(group); }

    static Result<Schedule> recorded() {
        ScheduleBuilder builder(0, 2);
        builder.recv({Buffer::recv, 0, 8}, 1);
        return builder.seal();
    }
    void start(Engine& engine) {
        engine.start(run, stream, {.recv = data, .reduction = {}}, nullptr, /*waits=*/true);
    }
    // The receive fails when the owner submits lists.
    void fail_when_submitted() {
        lists.wants_owner = true;
        lists.when_submitted = [this] { executor.break_group(group, executor.out_of_memory()); };
    }

    ListsInFlight lists;
    FakeTransport transport;
    Executor executor{0, {&transport}, {nullptr, &transport}, &lists};
    Group group{.context = 1, .members = {0, 1}, .broken = {}};
    Stream stream{group, 0};
    const Result<Schedule> schedule = recorded();
    weft::Run run{*schedule};
    std::byte data[8] = {};
};

// A thread that is kept for its lists alone drives nothing, but runs may end when it begins or
// submits some: here by a failure.
TEST(Engine, AThreadThatIsKeptForItsListsWakesThoseWhoseRunsEndThere) {
    ReceiveBesideLists receive;
    auto owned = std::make_unique<ParkingUntilWoken>();
    ParkingUntilWoken& parking = *owned;
    Engine engine(receive.executor, {.kind = EngineKind::kernel}, std::move(owned));
    {
        InCall starts_the_thread(engine);
        receive.lists.wants_owner = true;
    }
    engine.set_kind(EngineKind::manual);
    parking.when_waiter_parks = [&] {
        InCall calls_the_thread(engine);
        receive.fail_when_submitted();
    };
    const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
    InCall in_call(engine);
    receive.start(engine);
    EXPECT_EQ(
        engine.wait_until([&] { return receive.run.is_done(); }, {.deadline_ns = deadline_ns}),
        WEFT_OK);
    EXPECT_LT(now_ns(), deadline_ns) << "nothing but its deadline has ended the wait";
}

// The same for the thread that joined the job, where it owns the lists.
TEST(Engine, AWaitThatFollowsDoesNotSleepWhenItsRunEndsAsItSubmitsLists) {
    ReceiveBesideLists receive;
    auto owned = std::make_unique<ParkingInOneThread>();
    ParkingInOneThread& parking = *owned;
    Engine engine(receive.executor, {.kind = EngineKind::kernel_own}, std::move(owned));
    bool has_followed = false;
    bool has_slept = false;
    parking.meanwhile.push_back([&] { has_slept = true; });
    parking.meanwhile.push_back([&] {
        InCall in_call(engine);
        receive.start(engine);
        receive.fail_when_submitted();
        EXPECT_EQ(engine.wait_until([&] { return receive.run.is_done(); }, {}), WEFT_OK);
        has_followed = true;
    });
    InCall in_call(engine);
    EXPECT_EQ(engine.wait_until([&] { return has_followed; }, {}), WEFT_OK);
    EXPECT_FALSE(has_slept);
}

TEST(Engine, AWaitDemandsBeforeItHasYieldedForLong) {
    DemandedTransport transport;
    Executor executor(0, {&transport}, {nullptr});
    auto owned = std::make_unique<ParkingInOneThread>();
    ParkingInOneThread& parking = *owned;
    Engine engine(executor, {.kind = EngineKind::manual, .may_spin = false, .on_demand = true},
                  std::move(owned));
    parking.in_yield = [] {
        const std::int64_t end_ns = now_ns() + second_ns / 1000;
        while (now_ns() < end_ns) {
        }
    };
    InCall in_call(engine);
    EXPECT_EQ(engine.wait_until([&] { return transport.demanded == Demand::wakes; },
                                {.deadline_ns = now_ns() + 20 * second_ns}),
              WEFT_OK);
    EXPECT_LE(parking.yields, 2);
}

// What weft_finalize waits for is no run.
TEST(Engine, AWaitHearsThatAnotherThreadHasEndedWhatWasOwed) {
    for (const EngineKind kind : {EngineKind::thread, EngineKind::thread_poll}) {
        SCOPED_TRACE(traits(kind).name);
        WorkEndedByAnother transport;
        Executor executor(0, {&transport}, {nullptr});
        Engine engine(executor, {.kind = kind});
        { InCall starts_the_thread(engine); }
        InCall in_call(engine);
        const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
        EXPECT_EQ(
            engine.wait_until([&] { return !executor.has_work(); }, {.deadline_ns = deadline_ns}),
            WEFT_OK);
        EXPECT_LT(now_ns(), deadline_ns) << "nothing but its deadline has ended the wait";
    }
}

// Does what is owed in the last step before a sleep.
class WorkEndedByArming final : public FakeTransport {
  public:
    bool by_arm = false;
    bool by_wake_peers = false;

    Abilities abilities() const override { return {.can_sleep = true}; }
    bool has_work() const override { return is_owed_; }
    bool arm(Sleeper sleeper) override {
        if (by_arm && sleeper != Sleeper::none) is_owed_ = false;
        return true;
    }
    bool wake_peers() override {
        if (by_wake_peers) is_owed_ = false;
        return false;
    }

  private:
    bool is_owed_ = true;
};

// Nothing else would wake it.
TEST(Engine, AWaitDoesNotSleepWhenItsLastStepBeforeHasEndedWhatWasOwed) {
    for (const bool follows : {false, true}) {
        SCOPED_TRACE(follows ? "a wait that follows" : "a wait that leads");
        WorkEndedByArming transport;
        Executor executor(0, {&transport}, {nullptr});
        auto owned = std::make_unique<ParkingInOneThread>();
        ParkingInOneThread& parking = *owned;
        Engine engine(executor, {.kind = EngineKind::manual}, std::move(owned));
        bool has_slept = false;
        const auto wait = [&] {
            InCall in_call(engine);
            (follows ? transport.by_wake_peers : transport.by_arm) = true;
            EXPECT_EQ(engine.wait_until([&] { return !executor.has_work(); }, {}), WEFT_OK);
        };
        parking.meanwhile.push_back([&] { has_slept = true; });
        if (!follows) {
            wait();
        } else {
            parking.meanwhile.push_back(wait);
            InCall in_call(engine);
            EXPECT_EQ(engine.wait_until([&] { return parking.parks > 0; }, {}), WEFT_OK);
        }
        EXPECT_FALSE(has_slept);
    }
}

// The thread has a core set aside, the program shares its own with other ranks.
TEST(Engine, AWaitLeavesAllToAThreadOnACoreSetAside) {
    WorkEndedByAnother transport;
    transport.begins = false;
    transport.armed_for = Sleeper::thread;
    Executor executor(0, {&transport}, {nullptr});
    Engine engine(
        executor,
        {.kind = EngineKind::thread, .may_spin = false, .progress_place = {.cores = own_cores()}});
    { InCall starts_the_thread(engine); }
    InCall in_call(engine);
    transport.begins = true;
    EXPECT_EQ(engine.wait_until([&] { return !executor.has_work(); },
                                {.deadline_ns = now_ns() + 20 * second_ns}),
              WEFT_OK);
    EXPECT_GT(transport.armed.size(), 0U);
    EXPECT_EQ(std::ranges::count(transport.armed, Sleeper::waiter), 0);
}

// Over shared memory calls are not protected from pthread_cancel: they make no other system calls.
TEST(Engine, AQueueIsToldInAThreadThatIsBeingCancelled) {
    ArmedTransport transport(true);
    Executor executor(0, {&transport}, {nullptr, &transport});
    Group group;
    group.context = 1;
    group.members = {0, 1};
    executor.add_group(group);
    Stream stream(group, 0);
    ScheduleBuilder builder(0, 2);
    builder.recv({Buffer::recv, 0, 8}, 1);
    const Result<Schedule> schedule = builder.seal();
    weft::Run run(*schedule);
    std::byte data[8] = {};
    Engine engine(executor, {.kind = EngineKind::thread});
    std::optional<CompletionQueue> queue(std::in_place, engine);
    bool has_told = false;
    bool has_taken = false;
    std::thread cancelled([&] {
        pthread_cancel(pthread_self());
        {
            InCall in_call(engine);
            if (!queue->descriptor().is_ok()) return;
            engine.start(run, stream, {.recv = data, .reduction = {}}, nullptr, false);
            queue->mark(run, 7);
            transport.completes = true;
            engine.progress();
        }
        has_told = true;
        {
            InCall in_call(engine);
            std::uint64_t cookie = 0;
            has_taken = queue->take(cookie) == &run && queue->take(cookie) == nullptr;
        }
    });
    cancelled.join();
    EXPECT_TRUE(has_told);
    EXPECT_TRUE(has_taken);
    InCall in_call(engine);
    queue.reset();
}

bool is_readable(int descriptor) {
    pollfd polled{descriptor, POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
}

// No thread would make it readable any more: the program's looks advance what it waits for.
TEST(Engine, AQueuesDescriptorIsNotSilentAfterAChangeToAnEngineWithoutAThread) {
    for (const EngineKind kind : {EngineKind::manual, EngineKind::fiber}) {
        SCOPED_TRACE(traits(kind).name);
        ArmedTransport transport(true);
        Executor executor(0, {&transport}, {nullptr, &transport});
        Group group;
        group.context = 1;
        group.members = {0, 1};
        executor.add_group(group);
        Stream stream(group, 0);
        ScheduleBuilder builder(0, 2);
        builder.recv({Buffer::recv, 0, 8}, 1);
        const Result<Schedule> schedule = builder.seal();
        weft::Run run(*schedule);
        std::byte data[8] = {};
        Engine engine(executor, {.kind = EngineKind::thread});
        std::optional<CompletionQueue> queue(std::in_place, engine);
        const auto take = [&] {
            InCall in_call(engine);
            std::uint64_t cookie = 0;
            engine.progress();
            return queue->take(cookie);
        };
        int descriptor = -1;
        {
            InCall in_call(engine);
            const Result<int> opened = queue->descriptor();
            ASSERT_TRUE(opened.is_ok());
            descriptor = *opened;
            engine.start(run, stream, {.recv = data, .reduction = {}}, nullptr, false);
            queue->mark(run, 7);
        }
        EXPECT_FALSE(is_readable(descriptor));
        engine.set_kind(kind);
        EXPECT_TRUE(is_readable(descriptor));
        EXPECT_EQ(take(), nullptr);
        EXPECT_TRUE(is_readable(descriptor)) << "a run is still pending";
        {
            InCall in_call(engine);
            transport.completes = true;
        }
        EXPECT_EQ(take(), &run);
        EXPECT_EQ(take(), nullptr);
        EXPECT_FALSE(is_readable(descriptor)) << "nothing is pending";
        InCall in_call(engine);
        queue.reset();
    }
}

// Ends what is waited for when it has been polled often enough.
class PolledBeside final : public Engine::ExtraSource {
  public:
    explicit PolledBeside(Engine& engine) : engine_(engine) {}
    std::atomic<int> polls{0};
    std::atomic<bool> is_over{false};

    bool poll() override {
        // Another thread can use the engine meanwhile.
        if (++polls % 10 == 0) std::thread([this] { InCall in_call(engine_); }).join();
        if (polls == 50) is_over = true;
        return polls % 7 == 0;
    }

  private:
    Engine& engine_;
};

TEST_F(EngineTest, AWaitDrivesWhatElseItIsGiven) {
    for (EngineKind kind : {EngineKind::manual, EngineKind::thread}) {
        make(kind);
        PolledBeside beside(*engine_);
        InCall in_call(*engine_);
        EXPECT_EQ(engine_->wait_until([&] { return beside.is_over.load(); },
                                      {.deadline_ns = now_ns() + 20 * second_ns, .extra = &beside}),
                  WEFT_OK);
        EXPECT_GE(beside.polls, 50);
    }
}

TEST_F(EngineTest, AWaitBesideALeaderDrivesItToo) {
    make(EngineKind::manual);
    PolledBeside beside(*engine_);
    std::atomic<bool> leads{false};
    std::thread leader([&] {
        InCall in_call(*engine_);
        EXPECT_EQ(engine_->wait_until(
                      [&] {
                          leads = true;
                          return false;
                      },
                      {.deadline_ns = now_ns() + second_ns / 2}),
                  WEFT_TIMED_OUT);
    });
    while (!leads) std::this_thread::yield();
    {
        InCall in_call(*engine_);
        EXPECT_EQ(engine_->wait_until([&] { return beside.is_over.load(); },
                                      {.deadline_ns = now_ns() + 20 * second_ns, .extra = &beside}),
                  WEFT_OK);
    }
    leader.join();
}

// Runs user-level threads in this one: who waits calls what the others do meanwhile, on its own stack.
class NestedThreads {
  public:
    explicit NestedThreads(Engine& engine) : engine_(engine) { UserThreads::attached = &threads_; }
    ~NestedThreads() { UserThreads::attached = nullptr; }

    std::function<void()> meanwhile;
    std::string resumed;  // names

    // In the thread of this name, a letter.
    weft_status wait(const char* name, const std::function<bool()>& done,
                     std::int64_t deadline_ns) {
        const As thread(*this, name);
        InCall in_call(engine_);
        return engine_.wait_until([&] { return done(); }, {.deadline_ns = deadline_ns});
    }
    void look_until_resumed(const char* name) {
        const As scheduler(*this, nullptr);
        const std::int64_t give_up_ns = now_ns() + 20 * second_ns;
        while (resumed.find(name) == std::string::npos && now_ns() < give_up_ns)
            engine_.look_for(threads_);
    }
    // Once.
    void look() {
        while (!threads_.is_time_to_look(ticks())) std::this_thread::yield();
        engine_.look_for(threads_);
    }
    void look_now() { engine_.look_for(threads_, Engine::Look::now); }
    void sleep() {
        const As scheduler(*this, nullptr);
        engine_.sleep_for(threads_);
    }

  private:
    struct As {
        As(NestedThreads& all, const char* name)
            : all_(all), before_(std::exchange(all.current_, name)) {}
        ~As() { all_.current_ = before_; }
        NestedThreads& all_;
        const char* const before_;
    };
    static NestedThreads& of(void* state) { return *static_cast<NestedThreads*>(state); }

    Engine& engine_;
    const char* current_ = nullptr;
    UserThreads threads_{{
        .current = [](void* self) -> void* { return const_cast<char*>(of(self).current_); },
        .suspend = [](void* self) { of(self).meanwhile(); },
        .resume = [](void* self,
                     void* name) { of(self).resumed += static_cast<const char*>(name); },
        .yield = [](void*) {},
        .spawn = nullptr,
        .state = this,
    }};
};

TEST_F(EngineTest, ASuspendedWaitTakesWhatHasComeBeforeItGivesUp) {
    make(EngineKind::manual);
    transport_.always_moves = true;
    transport_.caller = std::this_thread::get_id();
    NestedThreads threads(*engine_);
    const std::int64_t deadline_ns = now_ns() + second_ns / 100;
    threads.meanwhile = [&] {
        while (now_ns() < deadline_ns) std::this_thread::yield();
        threads.look_until_resumed("a");
        transport_.polls_of_caller = 0;
    };
    EXPECT_EQ(threads.wait(
                  "a", [&] { return transport_.polls_of_caller >= 20; }, deadline_ns),
              WEFT_OK);
    EXPECT_EQ(threads.resumed, "a");
    // It is not kept by what others move.
    const std::int64_t past_ns = now_ns() - 1;
    EXPECT_EQ(threads.wait(
                  "b", [] { return false; }, past_ns),
              WEFT_TIMED_OUT);
    EXPECT_EQ(threads.resumed, "a");
}

// The answers of several rounds come only when each is looked for.
TEST_F(EngineTest, ATimeoutDoesNotCountHowLongOtherUserLevelThreadsCompute) {
    constexpr std::int64_t timeout_ns = second_ns / 100;
    make(EngineKind::manual, timeout_ns);
    NestedThreads threads(*engine_);
    int suspended = 0;
    threads.meanwhile = [&] {
        ++suspended;
        threads.resumed.clear();
        const std::int64_t until_ns = now_ns() + 2 * timeout_ns;
        while (now_ns() < until_ns) std::this_thread::yield();
        threads.look_until_resumed("a");
    };
    EXPECT_EQ(threads.wait(
                  "a", [&] { return suspended == 3; }, Engine::no_deadline),
              WEFT_OK);
    suspended = 0;
    const std::int64_t begin_ns = now_ns();
    EXPECT_EQ(threads.wait(
                  "a", [] { return false; }, Engine::no_deadline),
              WEFT_TIMED_OUT);
    EXPECT_GT(suspended, 1);
    EXPECT_GE(now_ns() - begin_ns, timeout_ns);
}

// The next look may come only after a long computation.
TEST_F(EngineTest, ALookGoesOnWhileSomethingMovesButNotForLong) {
    make(EngineKind::manual);
    transport_.caller = std::this_thread::get_id();
    transport_.work = 1'000'000;
    NestedThreads threads(*engine_);
    for (const bool moves : {true, false}) {
        transport_.always_moves = moves;
        transport_.polls_of_caller = 0;
        threads.look();
        if (moves) {
            EXPECT_GT(transport_.polls_of_caller, 2);
        }
        EXPECT_LT(transport_.polls_of_caller, moves ? 100 : 3);
    }
    transport_.work = 0;
}

TEST_F(EngineTest, ALookGivesTheLockToThoseWhoWantIt) {
    make(EngineKind::manual);
    transport_.caller = std::this_thread::get_id();
    transport_.work = 1'000'000;
    transport_.always_moves = true;
    NestedThreads threads(*engine_);
    std::atomic<bool> has_begun = false;
    std::atomic<bool> was_let_in = false;
    int polls_before = 0;
    transport_.when_polled = [&] {
        has_begun = true;
        if (!was_let_in) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    std::thread other([&] {
        while (!has_begun) std::this_thread::yield();
        InCall in_call(*engine_);
        polls_before = transport_.polls_of_caller;
        was_let_in = true;
    });
    threads.look_now();
    other.join();
    EXPECT_LT(polls_before, transport_.polls_of_caller);
    transport_.work = 0;
}

// The deadline of a wait that has ended is no reason.
TEST_F(EngineTest, TheSleepOfASchedulerEndsWhenAUserLevelThreadIsResumed) {
    make(EngineKind::manual);
    NestedThreads threads(*engine_);
    bool is_done = false;
    const std::int64_t early_ns = now_ns() + second_ns / 50;
    const std::int64_t late_ns = now_ns() + second_ns / 5;
    int waits = 0;
    threads.meanwhile = [&] {
        if (++waits == 1) {
            EXPECT_EQ(threads.wait(
                          "b", [] { return false; }, late_ns),
                      WEFT_TIMED_OUT);
            return;
        }
        is_done = true;
        {
            InCall in_call(*engine_);
            engine_->wake_waiters();
        }
        threads.look_until_resumed("a");
        threads.sleep();
        EXPECT_EQ(threads.resumed, "ab");
    };
    EXPECT_EQ(threads.wait(
                  "a", [&] { return is_done; }, early_ns),
              WEFT_OK);
}

}  // namespace weft::test::engine_test
