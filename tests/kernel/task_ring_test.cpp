// Task lists carried out by io_uring, over dedicated sockets.
#include "offload/task_ring.h"

#include <poll.h>
#include <sys/ioctl.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "base/clock.h"
#include "engine/engine.h"
#include "run/executor.h"
#include "support/execution.h"
#include "support/in_call.h"
#include "support/problems.h"
#include "support/test.h"
#include "tests/kernel/ring.h"

namespace weft::test::task_ring_test {

using kernel::TaskRing;

constexpr std::int64_t second_ns = 1'000'000'000;

// A dedicated socket per peer, whatever the stream, and another one for CTSs.
class DedicatedSockets final : public Transport, public DedicatedConnections {
  public:
    DedicatedSockets(std::size_t ranks, std::uint64_t cleared_bytes_min)
        : cleared_bytes_min_(cleared_bytes_min),
          sockets_(2 * ranks, -1),
          next_(4 * ranks),
          held_(4 * ranks) {}
    void connect(Rank peer, int socket, int ctss) {
        sockets_[2 * static_cast<std::size_t>(peer)] = socket;
        sockets_[2 * static_cast<std::size_t>(peer) + 1] = ctss;
    }

    const char* name() const override { return "dedicated sockets"; }
    Abilities abilities() const override { return {.can_sleep = true}; }
    // A completion is seen by arm(), and wakes nobody who sleeps already.
    bool arm(Sleeper) override { return reported_.empty(); }
    DedicatedConnections* dedicated_connections() override { return this; }
    // Failure notices have nowhere to go here.
    Posted post_send(const Lane&, Bytes, Token) override { return Posted::pending; }
    Posted post_recv(const Lane&, MutBytes, Token) override { return Posted::pending; }
    NextMessage next_on(const Lane&) override { return NextMessage::none; }
    std::uint64_t next_changes() const override { return 0; }
    std::size_t poll(std::span<Completion> done) override {
        std::size_t reported = 0;
        while (!reported_.empty() && reported < done.size()) {
            done[reported++] = reported_.front();
            reported_.pop_front();
        }
        return reported;
    }
    void cancel_context(std::uint64_t) override {}
    void open_context(std::uint64_t) override {}
    void close_context(std::uint64_t) override {}
    void buffer_unknown(bool) override {}

    std::uint64_t cleared_bytes_min() const override { return cleared_bytes_min_; }
    bool carries(const Lane&) const override { return true; }
    Posted hold(const Lane& lane, bool sends, std::uint32_t messages, ListPlace& place,
                Token token) override {
        const std::size_t socket =
            2 * static_cast<std::size_t>(lane.peer) + (is_cts_stream(lane.stream) ? 1 : 0);
        const std::size_t at = 2 * socket + (sends ? 1 : 0);
        place.socket = sockets_[socket];
        place.sequence = static_cast<std::uint16_t>(std::exchange(next_[at], next_[at] + messages));
        ++held_[at];
        place.place = &held_[at];
        if (!grants_later) return Posted::done;
        waiting_.push_back(token);
        return Posted::pending;
    }
    void release(ListPlace& place) override { --*static_cast<int*>(place.place); }
    void fail(ListPlace& place, int error) override {
        --*static_cast<int*>(place.place);
        errors.push_back(error);
        for (std::size_t i = 0; i < sockets_.size(); ++i) {
            if (sockets_[i] == place.socket)
                reported_.push_back(
                    {.token = {}, .code = WEFT_BROKEN_RANK, .peer = static_cast<Rank>(i / 2)});
        }
    }
    void keep_open(int socket) override { kept_open.push_back(socket); }
    void grant_all() {
        for (const Token& token : waiting_) reported_.push_back({.token = token});
        waiting_.clear();
    }

    bool grants_later = false;
    std::vector<int> errors;
    std::vector<int> kept_open;

  private:
    const std::uint64_t cleared_bytes_min_;
    std::vector<int> sockets_;
    std::vector<std::uint32_t> next_;
    std::vector<int> held_;
    std::vector<Token> waiting_;
    std::deque<Completion> reported_;
};

// Ranks in this thread, which owns the lists of all of them.
class Job {
  public:
    explicit Job(Rank ranks, unsigned depth = 256, std::int64_t patience_ns = 20 * second_ns,
                 std::uint64_t cleared_bytes_min = DedicatedConnections::none_is_cleared)
        : is_eager_(cleared_bytes_min == DedicatedConnections::none_is_cleared) {
        const auto n = static_cast<std::size_t>(ranks);
        for (std::size_t r = 0; r < n; ++r)
            transports_.push_back(std::make_unique<DedicatedSockets>(n, cleared_bytes_min));
        constexpr std::size_t all_with_all_max = 8;  // of more, neighbours in a ring
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = a + 1; b < n; ++b) {
                if (n > all_with_all_max && b != a + 1 && b - a != n - 1) continue;
                const Connection& pair = pairs_.emplace_back();
                if (!is_eager_) cts_pairs_.emplace_back();
                const auto end_of_ctss = [&](Fd Connection::*end) {
                    return is_eager_ ? -1 : (cts_pairs_.back().*end).get();
                };
                transports_[a]->connect(static_cast<Rank>(b), pair.near.get(),
                                        end_of_ctss(&Connection::near));
                transports_[b]->connect(static_cast<Rank>(a), pair.far.get(),
                                        end_of_ctss(&Connection::far));
            }
        }
        for (std::size_t r = 0; r < n; ++r) {
            std::vector<Transport*> routes(n, transports_[r].get());
            routes[r] = nullptr;
            rings_.push_back(std::make_unique<TaskRing>(
                routes, Offload::Options{.queue_depth = depth}, patience_ns));
            rings_.back()->set_engine(traits(EngineKind::kernel_own));
            executors_.push_back(std::make_unique<Executor>(
                static_cast<Rank>(r), std::vector<Transport*>{transports_[r].get()}, routes,
                rings_.back().get()));
            Group group;
            group.context = 1;
            for (Rank member = 0; member < ranks; ++member) group.members.push_back(member);
            groups_.push_back(std::make_unique<Group>(std::move(group)));
            executors_.back()->add_group(*groups_.back());
            streams_.push_back(std::make_unique<Stream>(*groups_.back(), 0));
        }
    }

    Executor& executor(Rank rank) { return *executors_[static_cast<std::size_t>(rank)]; }
    Stream& stream(Rank rank) { return *streams_[static_cast<std::size_t>(rank)]; }
    DedicatedSockets& transport(Rank rank) { return *transports_[static_cast<std::size_t>(rank)]; }
    TaskRing& ring(Rank rank) { return *rings_[static_cast<std::size_t>(rank)]; }
    Connection& pair(std::size_t number) { return pairs_[number]; }
    Connection& cts_pair(std::size_t number) { return cts_pairs_[number]; }
    // As Offload compiles them.
    Tasks compile_all_lanes(const Schedule& schedule) const {
        return compile_tasks(schedule, std::vector<bool>(schedule.lanes().size(), true),
                             is_eager_ ? Protocol::eager : Protocol::rendezvous,
                             static_cast<std::int64_t>(transports_[0]->cleared_bytes_min()));
    }
    Rank ranks() const { return static_cast<Rank>(executors_.size()); }

    template <class Done>
    bool drive_until(Done done, std::int64_t patience_ns = 20 * second_ns) {
        const std::int64_t deadline_ns = now_ns() + patience_ns;
        while (!done()) {
            for (const auto& executor : executors_) executor->progress();
            if (now_ns() > deadline_ns) return false;
        }
        return true;
    }

  private:
    const bool is_eager_;
    std::vector<Connection> pairs_;
    std::vector<Connection> cts_pairs_;
    std::vector<std::unique_ptr<DedicatedSockets>> transports_;
    std::vector<std::unique_ptr<TaskRing>> rings_;
    std::vector<std::unique_ptr<Executor>> executors_;
    std::vector<std::unique_ptr<Group>> groups_;
    std::vector<std::unique_ptr<Stream>> streams_;
};

void start_as_lists(Executor& executor, Run& run, Stream& stream, const Binding& binding) {
    executor.start(run, stream, binding, /*is_offered=*/true);
    executor.begin_offered(/*as_lists=*/true);
}

// A call's schedules and task lists, ready to be started on a job again and again.
class Call {
  public:
    Call(Job& job, const Subject& subject, const Trial& problem)
        : job_(job), schedules_(*build_all(subject, problem)) {
        for (Rank r = 0; r < job.ranks(); ++r) {
            const Schedule& schedule = schedules_[static_cast<std::size_t>(r)];
            plans_.push_back({schedule, std::make_unique<Tasks>(job.compile_all_lanes(schedule)),
                              /*was_compiled=*/true});
            runs_.push_back(std::make_unique<Run>(schedule));
            EXPECT_TRUE(runs_.back()->offer_to(job.ring(r), plans_.back(), {})) << last_detail();
        }
    }
    void start(std::span<const Buffers> buffers, const Reduction& reduction) {
        for (Rank r = 0; r < job_.ranks(); ++r) start(r, buffers, reduction);
    }
    void start(Rank r, std::span<const Buffers> buffers, const Reduction& reduction) {
        const Buffers& own = buffers[static_cast<std::size_t>(r)];
        start_as_lists(job_.executor(r), run(r), job_.stream(r),
                       {own.send.data(), own.recv.data(), reduction});
    }
    bool is_done() const {
        return std::ranges::all_of(runs_, [](const auto& run) { return run->is_done(); });
    }
    Run& run(Rank r) { return *runs_[static_cast<std::size_t>(r)]; }
    // Empty, or what went wrong.
    std::string outcome() const {
        for (const auto& run : runs_) {
            if (run->failure().code != WEFT_OK) return status_name(run->failure().code);
        }
        return "";
    }

  private:
    Job& job_;
    std::vector<Schedule> schedules_;
    std::vector<OffloadPlan> plans_;
    std::vector<std::unique_ptr<Run>> runs_;
};

void skip_without_io_uring() {
    if (const std::string why_not = kernel::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
}

class TaskRingTest : public testing::Test {
    void SetUp() override { skip_without_io_uring(); }
};

class EveryTaskRing : public testing::TestWithParam<Subject> {
    void SetUp() override {
        skip_without_io_uring();
        if (!IsSkipped() && !is_its_turn(6)) GTEST_SKIP() << not_its_turn;
    }
};
INSTANTIATE_TEST_SUITE_P(All, EveryTaskRing, testing::ValuesIn(everything()), subject_name);

void expect_right(Job& job, const Subject& subject, const Trial& problem) {
    SCOPED_TRACE(to_text(subject, problem));
    const Postcondition promise = promise_of(*subject.first, problem);
    const Arithmetic& arithmetic = strictest(promise);
    Call call(job, subject, problem);
    Execution execution(promise, arithmetic);
    ASSERT_EQ(execution.run([&](std::span<const Buffers> buffers) {
        Interpretation outcome;
        call.start(buffers, arithmetic.reduction);
        outcome.failure =
            job.drive_until([&] { return call.is_done(); }) ? call.outcome() : "does not end";
        return outcome;
    }),
              "");
}

TEST_P(EveryTaskRing, ComputesWhatIsPromised) {
    std::map<Rank, Job> jobs;
    const Grid grid{.ranks = {2, 3, 4, 5},
                    .any_root = false,
                    .bytes = {0, 8, 40, 200'000},
                    .pipelines = {{}, {.segment_bytes = 16, .window = 2}},
                    .ports_max = 2};
    for_each_problem(GetParam(), grid, [&](Trial p) {
        if (p.bytes > 1000 && p.tuning.segment_bytes > 0) p.tuning.segment_bytes = 8192;
        expect_right(jobs.try_emplace(p.ranks, p.ranks).first->second, GetParam(), p);
    });
}

// From 100 bytes on messages wait for their CTS.
TEST_P(EveryTaskRing, ComputesItWithRendezvous) {
    for (const unsigned depth : {256u, 8u}) {
        std::map<Rank, Job> jobs;
        const Grid grid{.ranks = {2, 3, 5},
                        .any_root = false,
                        .bytes = {0, 40, 200'000},
                        .pipelines = {{}, {.segment_bytes = 16, .window = 2}},
                        .ports_max = 2};
        for_each_problem(GetParam(), grid, [&](Trial p) {
            if (p.bytes > 1000 && p.tuning.segment_bytes > 0) p.tuning.segment_bytes = 20'480;
            expect_right(
                jobs.try_emplace(p.ranks, p.ranks, depth, 20 * second_ns, 100u).first->second,
                GetParam(), p);
        });
    }
}

TEST_P(EveryTaskRing, ComputesItThroughAQueueOfEightEntries) {
    std::map<Rank, Job> jobs;
    // Fifteen segments. Moving and checking the data takes the time.
    const std::int64_t segment = runs_all() ? 65'536 : 20'480;
    const std::int64_t large = runs_all() ? 1'000'000 : 300'000;
    const Grid grid{.ranks = {2, 5},
                    .any_root = false,
                    .bytes = {40, large},
                    .pipelines = {{.segment_bytes = 16, .window = 2}},
                    .ports_max = 1};
    for_each_problem(GetParam(), grid, [&](Trial p) {
        if (p.bytes > 1000 && p.tuning.segment_bytes > 0) p.tuning.segment_bytes = segment;
        expect_right(jobs.try_emplace(p.ranks, p.ranks, 8).first->second, GetParam(), p);
    });
}

Subject subject_of(const std::string& collective, const std::string& name) {
    const algorithm::CollectiveSpec* family = algorithm::find_spec(collective);
    return {family, family->find(name)};
}

Trial problem_of(Rank ranks, std::int64_t bytes, std::int64_t segment_bytes = 0) {
    Trial p;
    p.ranks = ranks;
    p.bytes = bytes;
    p.element_bytes = 8;
    p.tuning.segment_bytes = segment_bytes;
    return p;
}

TEST_F(TaskRingTest, RunsAThousandSegmentsThroughAQueueOfSixtyFour) {
    Job job(3, 64);
    expect_right(job, subject_of("bcast", "chain"), problem_of(3, 8'000'000, 8'000));
}

TEST_F(TaskRingTest, RunsARingOfSixtyFourRanksThroughAQueueOfSixtyFour) {
    Job job(64, 64);
    expect_right(job, subject_of("allgather", "ring"), problem_of(64, 512));
}

// A schedule of many segments is small, its lists are not: beyond a bound it has none.
TEST_F(TaskRingTest, ListsTakeABoundedAmountOfMemory) {
    constexpr std::int64_t bytes_max = 10 << 20;
    Job job(3);
    TaskRing& ring = job.ring(1);
    ring.set_engine(traits(EngineKind::kernel));
    int too_long = 0;
    for (const std::int64_t segments : {1'000, 16'000, 17'000, 100'000}) {
        SCOPED_TRACE(segments);
        const auto schedules =
            *build_all(subject_of("bcast", "chain"), problem_of(3, 8 * segments, 8));
        weft::Run run(schedules[1]);
        OffloadPlan plan{schedules[1]};
        const bool has_lists = segments <= 16'000;
        EXPECT_EQ(run.offer_to(ring, plan,
                               {.members = job.stream(1).group().members, .has_thread = true}),
                  has_lists);
        EXPECT_EQ(plan.tasks != nullptr, has_lists);
        EXPECT_EQ(run.has_lists(), has_lists);
        too_long += !has_lists;
        const std::string n = std::to_string(too_long);
        EXPECT_EQ(ring.summary(), too_long == 0 ? ""
                                                : "0 operations offloaded, " + n + " not: " + n +
                                                      " of too many segments");
        EXPECT_LE(run.memory_bytes() + (plan.tasks ? plan.tasks->memory_bytes() : 0), bytes_max);
    }
}

// Runs of one stream share their connections: each message must meet its own receive.
void expect_right_together(Job& job, int runs, std::int64_t bytes, int times) {
    const Subject subject = subject_of("allgather", "ring");
    const Trial problem = problem_of(job.ranks(), bytes);
    const auto block = static_cast<std::size_t>(bytes);
    const auto ranks = static_cast<std::size_t>(job.ranks());
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<std::vector<std::byte>> send(static_cast<std::size_t>(runs) * ranks);
    std::vector<std::vector<std::byte>> recv(send.size());
    for (int i = 0; i < runs; ++i) calls.push_back(std::make_unique<Call>(job, subject, problem));
    for (int time = 0; time < times; ++time) {
        const auto pattern = [&](std::size_t run, std::size_t rank) {
            return static_cast<std::byte>(
                1 + (static_cast<std::size_t>(time) + 31 * run + 7 * rank) % 255);
        };
        for (std::size_t run = 0; run < calls.size(); ++run) {
            std::vector<Buffers> buffers;
            for (std::size_t r = 0; r < ranks; ++r) {
                send[run * ranks + r].assign(block, pattern(run, r));
                recv[run * ranks + r].assign(block * ranks, std::byte{0});
                buffers.push_back({send[run * ranks + r], recv[run * ranks + r]});
            }
            calls[run]->start(buffers, {});
        }
        const auto all_done = [&] {
            return std::ranges::all_of(calls, [](const auto& call) { return call->is_done(); });
        };
        ASSERT_TRUE(job.drive_until(all_done)) << "time " << time;
        for (std::size_t run = 0; run < calls.size(); ++run) {
            ASSERT_EQ(calls[run]->outcome(), "");
            for (std::size_t r = 0; r < ranks; ++r) {
                for (std::size_t from = 0; from < ranks; ++from) {
                    const auto got = Bytes(recv[run * ranks + r]).subspan(from * block, block);
                    ASSERT_TRUE(std::ranges::all_of(
                        got, [&](std::byte b) { return b == pattern(run, from); }))
                        << "time " << time << ", run " << run << ", rank " << r << ", block "
                        << from;
                }
            }
        }
    }
}

TEST_F(TaskRingTest, RunsOfOneStreamDoNotMix) {
    Job job(3);
    expect_right_together(job, 2, 64, 300);
    expect_right_together(job, 8, 64, 200);
    expect_right_together(job, 2, 1 << 20, 5);
    expect_right_together(job, 8, 1 << 20, 3);
}

// One rank sends when the lists of several runs wait behind one another on the other.
void expect_order_of_lists_that_wait(Job& job, std::int64_t bytes, bool grants_later) {
    constexpr std::size_t runs = 6;
    const auto n = static_cast<std::size_t>(bytes);
    const Subject subject = subject_of("bcast", "binomial");
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<std::vector<std::byte>> sent;
    std::vector<std::vector<std::byte>> received(runs, std::vector<std::byte>(n));
    for (std::size_t i = 0; i < runs; ++i) {
        calls.push_back(std::make_unique<Call>(job, subject, problem_of(2, bytes)));
        sent.emplace_back(n, static_cast<std::byte>(i + 1));
    }
    const auto start = [&](Rank rank, std::size_t i) {
        calls[i]->start(rank, std::vector<Buffers>{{{}, sent[i]}, {{}, received[i]}}, {});
    };
    // The first ones may get their places after the later ones.
    job.transport(1).grants_later = grants_later;
    for (std::size_t i = 0; i < runs; ++i) {
        if (i == runs / 2) job.transport(1).grants_later = false;
        start(1, i);
    }
    for (int i = 0; i < 100; ++i) job.executor(1).progress();
    job.transport(1).grant_all();
    for (std::size_t i = 0; i < runs; ++i) start(0, i);
    for (std::size_t i = 0; i < runs; ++i) {
        ASSERT_TRUE(job.drive_until([&] { return calls[i]->is_done(); })) << "run " << i;
        ASSERT_EQ(calls[i]->outcome(), "") << "run " << i;
        ASSERT_EQ(received[i], sent[i]) << "run " << i;
    }
}

TEST_F(TaskRingTest, ListsThatWaitBehindOneAnotherKeepTheirOrder) {
    for (const bool grants_later : {false, true}) {
        Job job(2);
        expect_order_of_lists_that_wait(job, 64, grants_later);
        expect_order_of_lists_that_wait(job, 1 << 20, grants_later);
        Job narrow(2, 8);
        expect_order_of_lists_that_wait(narrow, 8 << 20, grants_later);
    }
}

TEST_F(TaskRingTest, AListWaitsForItsPlace) {
    Job job(2);
    job.transport(1).grants_later = true;
    const Subject subject = subject_of("allgather", "ring");
    Call call(job, subject, problem_of(2, 8));
    std::vector<std::vector<std::byte>> send(2, std::vector<std::byte>(8));
    std::vector<std::vector<std::byte>> recv(2, std::vector<std::byte>(16));
    const std::vector<Buffers> buffers = {{send[0], recv[0]}, {send[1], recv[1]}};
    call.start(buffers, {});
    EXPECT_FALSE(job.drive_until([&] { return call.is_done(); }, second_ns / 10));
    EXPECT_TRUE(job.ring(1).needs_attention());
    job.transport(1).grant_all();
    EXPECT_TRUE(job.drive_until([&] { return call.is_done(); }));
    EXPECT_FALSE(job.ring(1).needs_attention());
    EXPECT_FALSE(job.ring(1).is_busy());
}

// A start copies a bounded amount: the run has not come to awaiting its lists.
TEST_F(TaskRingTest, AMessageOfAnotherSizeMayComeBeforeTheRunHasCopiedItsOwn) {
    constexpr std::size_t bytes = 4'000'000;
    Job job(2);
    Call call(job, subject_of("allgather", "ring"), problem_of(2, bytes));
    std::vector<std::byte> data(bytes);
    std::vector<std::byte> place(2 * bytes);
    const std::vector<Buffers> buffers = {{{}, {}}, {data, place}};
    const auto header =
        MessageHeader{.bytes = bytes - 1, .stream = job.stream(0).id().packed()}.encoded();
    const int peer = job.pair(0).near.get();
    ASSERT_EQ(write(peer, header.data(), header.size()), static_cast<ssize_t>(header.size()));
    call.start(1, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
    EXPECT_EQ(call.run(1).failure().code, WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(call.run(1).failure().rank, 0);
}

// Rank 0 sends more, or less, than rank 1 expects.
void expect_mismatch(std::int64_t sent, std::int64_t expected,
                     std::uint64_t cleared_bytes_min = DedicatedConnections::none_is_cleared) {
    SCOPED_TRACE(std::to_string(sent) + " for " + std::to_string(expected));
    Job job(2, 256, 20 * second_ns, cleared_bytes_min);
    const Subject subject = subject_of("bcast", "binomial");
    Call long_call(job, subject, problem_of(2, std::max(sent, expected)));
    Call short_call(job, subject, problem_of(2, std::min(sent, expected)));
    Call& sender = sent > expected ? long_call : short_call;
    Call& receiver = sent > expected ? short_call : long_call;
    std::vector<std::byte> data(static_cast<std::size_t>(std::max(sent, expected)));
    std::vector<std::byte> place(data.size());
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    sender.start(0, buffers, {});
    receiver.start(1, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return receiver.run(1).is_done(); }));
    const Failure& failure = receiver.run(1).failure();
    EXPECT_EQ(failure.code, WEFT_BROKEN_MESSAGE);
    EXPECT_EQ(failure.rank, 0);
    EXPECT_EQ(failure.sent_bytes, sent);
    EXPECT_EQ(failure.expected_bytes, expected);
    EXPECT_FALSE(job.ring(1).is_busy());
}

TEST_F(TaskRingTest, AMessageOfAnotherSizeBreaksTheGroup) {
    expect_mismatch(64, 128);
    expect_mismatch(128, 64);
    expect_mismatch(1'000'000, 2'000'000);
    expect_mismatch(2'000'000, 1'000'000);
    expect_mismatch(0, 8);
    expect_mismatch(8, 0);
}

// --- Rendezvous ----------------------------------------------------------------------------------

class KernelRendezvous : public TaskRingTest {
  protected:
    static constexpr std::uint64_t from_100 = 100;
    static constexpr std::int64_t bytes = 1 << 20;

    KernelRendezvous()
        : data(bytes, std::byte{5}), place(bytes), buffers{{{}, data}, {{}, place}} {}

    // A call whose only message goes from rank 0 to rank 1.
    static Call call_on(Job& job) {
        return Call(job, subject_of("bcast", "binomial"), problem_of(2, bytes));
    }
    static int waiting_bytes(const Fd& socket) {
        int waiting = 0;
        EXPECT_EQ(ioctl(socket.get(), FIONREAD, &waiting), 0);
        return waiting;
    }

    Job job{2, 256, 20 * second_ns, from_100};
    std::vector<std::byte> data;
    std::vector<std::byte> place;
    std::vector<Buffers> buffers;
};

// A receive of another size is found out, though its rank may clear nothing.
TEST_F(KernelRendezvous, AMessageOfAnotherSizeBreaksTheGroup) {
    for (const auto& [sent, expected] : {std::pair{1'000'000, 2'000'000},
                                         {2'000'000, 1'000'000},
                                         {64, 128},
                                         {128, 64},
                                         {64, 32},
                                         {0, 200},
                                         {200, 0}})
        expect_mismatch(sent, expected, from_100);
}

TEST_F(KernelRendezvous, ALateReceiverIsSentTheHeaderAlone) {
    Call call = call_on(job);
    call.start(0, buffers, {});
    const Fd& far = job.pair(0).far;
    ASSERT_TRUE(job.drive_until([&] { return waiting_bytes(far) > 0; }));
    EXPECT_FALSE(job.drive_until([&] { return waiting_bytes(far) > 16; }, second_ns / 50));
    EXPECT_EQ(call.run(0).late_peers(/*sends=*/true), std::vector<Rank>{1});
    EXPECT_EQ(call.run(0).late_peers(/*sends=*/false), std::vector<Rank>{})
        << "a CTS is no message of the collective";
    call.start(1, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return call.is_done(); }));
    EXPECT_EQ(place, data);
}

TEST_F(KernelRendezvous, ACtsThatComesEarlyCounts) {
    Call call = call_on(job);
    call.start(1, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return waiting_bytes(job.cts_pair(0).near) == 16; }));
    call.start(0, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return call.is_done(); }));
    EXPECT_EQ(place, data);
}

// A small message needs no CTS, nor does it wait for one of the large.
TEST_F(KernelRendezvous, SmallMessagesAreSentAtOnce) {
    Call call(job, subject_of("bcast", "binomial"), problem_of(2, 64));
    call.start(0, buffers, {});
    EXPECT_TRUE(job.drive_until([&] { return waiting_bytes(job.pair(0).far) == 16 + 64; }));
}

TEST_F(KernelRendezvous, RunsOfOneStreamDoNotMix) {
    Job three(3, 256, 20 * second_ns, from_100);
    expect_right_together(three, 8, 64, 20);
    expect_right_together(three, 8, 4096, 100);
    expect_right_together(three, 8, 1 << 20, 3);
}

TEST_F(KernelRendezvous, ListsThatWaitBehindOneAnotherKeepTheirOrder) {
    for (const bool grants_later : {false, true}) {
        Job wide(2, 256, 20 * second_ns, from_100);
        expect_order_of_lists_that_wait(wide, 1 << 20, grants_later);
        Job narrow(2, 8, 20 * second_ns, from_100);
        expect_order_of_lists_that_wait(narrow, 8 << 20, grants_later);
    }
}

TEST_F(KernelRendezvous, AListThatWaitsForItsCtsEndsWithItsRun) {
    {
        Call call = call_on(job);
        call.start(0, buffers, {});
        ASSERT_TRUE(job.drive_until([&] { return waiting_bytes(job.pair(0).far) == 16; }));
        EXPECT_TRUE(job.ring(0).is_busy());
    }
    EXPECT_FALSE(job.ring(0).is_busy());
}

TEST_F(KernelRendezvous, AClosedConnectionEndsTheRunThatWaitsForItsCts) {
    Call call = call_on(job);
    call.start(0, buffers, {});
    ASSERT_TRUE(job.drive_until([&] { return waiting_bytes(job.pair(0).far) == 16; }));
    job.cts_pair(0).far = Fd();
    ASSERT_TRUE(job.drive_until([&] { return call.run(0).is_done(); }));
    EXPECT_EQ(call.run(0).failure().code, WEFT_BROKEN_RANK);
    EXPECT_EQ(call.run(0).failure().rank, 1);
    EXPECT_FALSE(job.ring(0).is_busy());
}

TEST_F(KernelRendezvous, BytesThatAreNoCtsEndTheRun) {
    Call call = call_on(job);
    call.start(0, buffers, {});
    const auto header = MessageHeader{.bytes = 0, .stream = job.stream(0).id().packed()}.encoded();
    ASSERT_EQ(write(job.cts_pair(0).far.get(), header.data(), header.size()),
              static_cast<ssize_t>(header.size()));
    ASSERT_TRUE(job.drive_until([&] { return call.run(0).is_done(); }));
    EXPECT_NE(call.run(0).failure().code, WEFT_OK);
    EXPECT_EQ(job.transport(0).errors, std::vector<int>{EPROTO});
}

// The sender computes, the receiver comes late: nobody calls the library on the sender.
TEST_F(KernelRendezvous, AMessageLeavesARankThatNeverEntersTheLibrary) {
    Call call = call_on(job);
    call.start(0, buffers, {});
    std::atomic<bool> has_come{false};
    std::thread receiver([&] {
        const auto cts =
            MessageHeader{.stream = cts_stream_of(job.stream(0).id()).packed()}.encoded();
        if (write(job.cts_pair(0).far.get(), cts.data(), cts.size()) <= 0) return;
        std::vector<std::byte> got(MessageHeader::size + bytes);
        for (std::size_t at = 0; at < got.size();) {
            pollfd come{job.pair(0).far.get(), POLLIN, 0};
            if (poll(&come, 1, 20'000) != 1) return;
            const ssize_t n = read(come.fd, got.data() + at, got.size() - at);
            if (n <= 0) return;
            at += static_cast<std::size_t>(n);
        }
        has_come = std::equal(data.begin(), data.end(), got.begin() + MessageHeader::size);
    });
    const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
    while (!has_come && now_ns() < deadline_ns) cpu_relax();
    EXPECT_TRUE(has_come);
    receiver.join();
    EXPECT_TRUE(job.drive_until([&] { return call.run(0).is_done(); }));
}

TEST_F(TaskRingTest, AClosedConnectionEndsARunAndNothingIsTouchedAfterwards) {
    for (const bool closes_late : {false, true}) {
        Job job(2);
        Call call(job, subject_of("bcast", "binomial"), problem_of(2, 400'000));
        std::vector<std::byte> place(400'000);
        const std::vector<Buffers> buffers = {{{}, {}}, {{}, place}};
        if (!closes_late) job.pair(0).near = Fd();
        call.start(1, buffers, {});
        if (closes_late) {
            EXPECT_FALSE(job.drive_until([&] { return call.run(1).is_done(); }, second_ns / 100));
            job.pair(0).near = Fd();
        }
        ASSERT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
        EXPECT_EQ(call.run(1).failure().code, WEFT_BROKEN_RANK);
        EXPECT_FALSE(job.ring(1).is_busy());
        EXPECT_EQ(job.transport(1).errors.size(), 1u);
    }
}

void expect_untouched_after_abandoning() {
    Job job(2);
    Call call(job, subject_of("bcast", "binomial"), problem_of(2, 4'000'000));
    std::vector<std::byte> data(4'000'000, std::byte{7});
    std::vector<std::byte> place(4'000'000);
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    call.start(1, buffers, {});
    job.executor(1).break_group(job.stream(1).group(), {WEFT_BROKEN_TIMEOUT, 0, 0, 0});
    EXPECT_TRUE(call.run(1).is_done());
    EXPECT_FALSE(job.ring(1).is_busy());
    // (The sockets' buffers may take all of it.)
    call.start(0, buffers, {});
    (void)job.drive_until([&] { return call.run(0).is_done(); }, second_ns / 10);
    EXPECT_TRUE(std::ranges::all_of(place, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(TaskRingTest, AListEndsWithTheRunThatIsDestroyed) {
    Job job(2);
    std::vector<std::byte> place(100);
    const std::vector<Buffers> buffers = {{{}, {}}, {{}, place}};
    {
        Call call(job, subject_of("bcast", "binomial"), problem_of(2, 100));
        call.start(1, buffers, {});
        EXPECT_TRUE(job.ring(1).is_busy());
    }
    EXPECT_FALSE(job.ring(1).is_busy());
}

// What the engine is for: the middle rank calls nobody, and the message passes.
TEST_F(TaskRingTest, AMessagePassesARankThatNeverEntersTheLibrary) {
    constexpr std::size_t bytes = 1 << 20;
    Job job(3);
    Call call(job, subject_of("bcast", "chain"), problem_of(3, bytes, bytes));
    std::vector<std::byte> data(bytes, std::byte{5});
    std::vector<std::byte> place(bytes);
    const std::vector<Buffers> buffers = {{{}, {}}, {{}, place}, {{}, {}}};
    call.start(1, buffers, {});
    // Ranks 0 and 2 are played on the bare sockets: the pairs are 0-1, 0-2, 1-2.
    std::atomic<bool> has_come{false};
    std::thread ends([&] {
        const auto header =
            MessageHeader{.bytes = bytes, .stream = job.stream(0).id().packed()}.encoded();
        const auto write_all = [&](Bytes all) {
            while (!all.empty()) {
                const ssize_t n = write(job.pair(0).near.get(), all.data(), all.size());
                if (n <= 0) return;
                all = all.subspan(static_cast<std::size_t>(n));
            }
        };
        write_all(header);
        write_all(data);
        std::vector<std::byte> got(header.size() + bytes);
        for (std::size_t at = 0; at < got.size();) {
            pollfd come{job.pair(2).far.get(), POLLIN, 0};
            if (poll(&come, 1, 20'000) != 1) return;
            const ssize_t n = read(come.fd, got.data() + at, got.size() - at);
            if (n <= 0) return;
            at += static_cast<std::size_t>(n);
        }
        has_come = std::equal(data.begin(), data.end(), got.begin() + header.size()) &&
                   std::equal(header.begin(), header.end(), got.begin());
    });
    // A computation: no call of the operating system. (The clock is read without one.)
    const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
    while (!has_come && now_ns() < deadline_ns) cpu_relax();
    EXPECT_TRUE(has_come);
    ends.join();
    EXPECT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
    EXPECT_EQ(place, data);
}

// What comes on a connection is nothing that a peer would send, whatever there is of it.
TEST_F(TaskRingTest, BytesThatAreNoMessageEndARun) {
    for (const std::byte fill : {std::byte{0}, std::byte{0x5a}, std::byte{0xff}}) {
        for (const std::size_t bytes : {std::size_t{1000}, std::size_t{4112}}) {
            if (fill == std::byte{0xff} && bytes < 4112) continue;  // looks like no header yet
            SCOPED_TRACE(std::to_string(bytes) + " bytes of " + std::to_string(int(fill)));
            Job job(2);
            Call call(job, subject_of("bcast", "binomial"), problem_of(2, 4096));
            std::vector<std::byte> place(4096);
            const std::vector<Buffers> buffers = {{{}, {}}, {{}, place}};
            call.start(1, buffers, {});
            const std::vector<std::byte> garbage(bytes, fill);
            ASSERT_EQ(write(job.pair(0).near.get(), garbage.data(), bytes),
                      static_cast<ssize_t>(bytes));
            EXPECT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
            EXPECT_EQ(job.transport(1).errors, std::vector<int>{EPROTO});
        }
    }
}

// A header of which a part is not seen yet looks foreign, or like one of another size.
TEST_F(TaskRingTest, AHeaderThatIsBeingStoredIsNoFaultOfThePeer) {
    constexpr std::int64_t bytes = 4096;
    constexpr std::int64_t later_ns = 1'000'000;
    Job job(2);
    const std::vector<Schedule> schedules =
        *build_all(subject_of("bcast", "binomial"), problem_of(2, bytes));
    const Tasks tasks = job.compile_all_lanes(schedules[1]);
    const std::unique_ptr<Offload::Lists> lists = std::move(*job.ring(1).make(tasks));
    kernel::List& list = *static_cast<kernel::RunLists&>(*lists).lists[0];
    std::vector<std::byte> place(bytes);
    const std::uint64_t stream = job.stream(1).id().packed();
    list.bind({.stream = job.stream(1).id(), .recv = place.data()});
    using State = kernel::List::HeaderState;
    EXPECT_EQ(list.verdict_on(0, stream), State::not_come);
    const auto header = MessageHeader{.bytes = bytes, .stream = stream}.encoded();
    MessageHeader::Encoded& seen = list.messages[0].header;
    std::ranges::copy(std::span(header).last(8), seen.end() - 8);
    EXPECT_EQ(list.verdict_on(0, stream), State::foreign);
    EXPECT_TRUE(list.is_doubtful(second_ns));
    std::ranges::copy(std::span(header).first(4), seen.begin());
    EXPECT_TRUE(list.is_doubtful(second_ns + later_ns)) << "something has changed";
    EXPECT_TRUE(list.is_doubtful(second_ns + later_ns + 1));
    EXPECT_FALSE(list.is_doubtful(second_ns + 2 * later_ns));
    seen = header;
    EXPECT_EQ(list.verdict_on(0, stream), State::right);
}

// --- A kernel that does not take everything, or does not end it ----------------------------------

using Cancel = int (*)(io_uring*, io_uring_sync_cancel_reg*);

// While it exists, the kernel is handed entries by `submit`, and cancels by `cancel`.
struct Handing {
    explicit Handing(int (*submit)(io_uring*), Cancel cancel = io_uring_register_sync_cancel) {
        kernel::submit_to_kernel = submit;
        kernel::cancel_in_kernel = cancel;
    }
    ~Handing() {
        kernel::submit_to_kernel = io_uring_submit;
        kernel::cancel_in_kernel = io_uring_register_sync_cancel;
    }
};

// Linux before 6.0.
int cancel_by_entries(io_uring*, io_uring_sync_cancel_reg*) { return -EINVAL; }

// The kernel takes so many entries of the next submission, then all.
unsigned taken_at_first = 0;
int take_few(io_uring* ring) {
    const unsigned few = std::exchange(taken_at_first, 0);
    if (few == 0 || few >= io_uring_sq_ready(ring)) return io_uring_submit(ring);
    const unsigned all = std::exchange(ring->sq.sqe_tail, *ring->sq.khead + few);
    const int taken = io_uring_submit(ring);
    ring->sq.sqe_tail = all;
    return taken;
}

// Where the kernel stops between two chains, all is well. Where it stops within one, the rest of it
// would overtake the part that waits.
TEST_F(TaskRingTest, APartOfAChainIsNotFollowedByItsRest) {
    constexpr std::size_t block = 300'000;
    const Handing handing(take_few);
    int right = 0;
    int broken = 0;
    for (unsigned few = 1; few < 40; ++few) {
        SCOPED_TRACE(few);
        Job job(3);
        Call call(job, subject_of("allgather", "ring"), problem_of(3, block));
        std::vector<std::vector<std::byte>> send;
        std::vector<std::vector<std::byte>> recv(3, std::vector<std::byte>(3 * block));
        std::vector<Buffers> buffers;
        for (std::size_t r = 0; r < 3; ++r) {
            send.emplace_back(block, static_cast<std::byte>(r + 1));
            buffers.push_back({send[r], recv[r]});
        }
        call.start(0, buffers, {});
        call.start(2, buffers, {});
        taken_at_first = few;
        call.start(1, buffers, {});
        taken_at_first = 0;
        ASSERT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
        EXPECT_TRUE(job.transport(1).errors.empty()) << "no peer is to blame";
        if (call.run(1).failure().code == WEFT_OK) {
            ++right;
            for (std::size_t from = 0; from < 3; ++from)
                EXPECT_TRUE(
                    std::equal(send[from].begin(), send[from].end(),
                               recv[1].begin() + static_cast<std::ptrdiff_t>(from * block)));
        } else {
            ++broken;
            EXPECT_EQ(call.run(1).failure().code, WEFT_BROKEN_MEMORY);
            EXPECT_EQ(call.run(1).failure().rank, 1);
        }
        EXPECT_FALSE(job.ring(1).is_busy());
    }
    EXPECT_GE(right, 1);
    EXPECT_GE(broken, 10);
}

// So often the kernel takes nothing.
int refusals = 0;
int refuse(io_uring* ring) {
    return refusals > 0 && refusals-- > 0 ? -EAGAIN : io_uring_submit(ring);
}

TEST_F(TaskRingTest, WhatTheKernelDoesNotTakeIsSubmittedLater) {
    const Handing handing(refuse);
    refusals = 1'100'000;
    Job job(2);
    expect_right(job, subject_of("allgather", "ring"), problem_of(2, 200'000));
    EXPECT_EQ(refusals, 0);
    refusals = 1000;
    Job narrow(2, 8);
    expect_right(narrow, subject_of("bcast", "chain"), problem_of(2, 1'000'000, 8'000));
    EXPECT_EQ(refusals, 0);
}

// It takes nothing until it has got rid of its completions.
bool is_full = false;
int want_room(io_uring* ring) {
    is_full = is_full && io_uring_cq_ready(ring) > 0;
    return is_full ? -EBUSY : io_uring_submit(ring);
}

TEST_F(TaskRingTest, CompletionsAreTakenBeforeTheNextSubmission) {
    const Handing handing(want_room);
    Job job(2);
    Call first(job, subject_of("bcast", "binomial"), problem_of(2, 8));
    Call second(job, subject_of("bcast", "binomial"), problem_of(2, 8));
    std::vector<std::byte> data(8, std::byte{7});
    std::vector<std::byte> place(8);
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    first.start(0, buffers, {});  // has completed
    is_full = true;
    second.start(0, buffers, {});
    EXPECT_TRUE(job.ring(0).needs_owner());
    first.start(1, buffers, {});
    second.start(1, buffers, {});
    EXPECT_TRUE(job.drive_until([&] { return first.is_done() && second.is_done(); }));
    EXPECT_EQ(first.outcome() + second.outcome(), "");
}

// A list that the kernel has not given back is never freed. While this lives, LeakSanitizer counts nothing.
class KeptForTheKernel {
  public:
#if defined(__SANITIZE_ADDRESS__)
    KeptForTheKernel() { __lsan_disable(); }
    ~KeptForTheKernel() { __lsan_enable(); }
#else
    KeptForTheKernel() {}
#endif
};

TEST_F(TaskRingTest, AKernelThatTakesNothingForTooLongBreaksTheRun) {
    const Handing handing(refuse);
    {
        const KeptForTheKernel kept;
        Job job(2, 256, second_ns / 20);
        Call call(job, subject_of("bcast", "binomial"), problem_of(2, 8));
        std::vector<std::byte> place(8);
        const std::vector<Buffers> buffers = {{{}, {}}, {{}, place}};
        refusals = std::numeric_limits<int>::max();
        call.start(1, buffers, {});
        ASSERT_TRUE(job.drive_until([&] { return call.run(1).is_done(); }));
        EXPECT_EQ(call.run(1).failure().code, WEFT_BROKEN_MEMORY);
        EXPECT_EQ(call.run(1).failure().rank, 1);
        refusals = 0;
    }
}

TEST_F(TaskRingTest, WhatIsAbandonedTouchesNoBufferAnyMore) { expect_untouched_after_abandoning(); }

TEST_F(TaskRingTest, WhatAnEntryCancelsTouchesNoBufferAnyMore) {
    const Handing handing(io_uring_submit, cancel_by_entries);
    expect_untouched_after_abandoning();
}

// A thread that may own nothing abandons a group, while entries of another one are left, and ends.
void expect_others_of_an_abandoned_group(weft_status end) {
    constexpr std::size_t bytes = 1000;
    Job job(2);
    Group group;
    group.context = 2;
    group.members = {0, 1};
    Stream stream(group, 0);
    job.executor(1).add_group(group);
    std::vector<std::byte> data(bytes, std::byte{7});
    std::vector<std::byte> place(bytes);
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    Call abandoned(job, subject_of("bcast", "binomial"), problem_of(2, bytes));
    Call stays(job, subject_of("bcast", "binomial"), problem_of(2, bytes));
    abandoned.start(1, buffers, {});
    refusals = std::numeric_limits<int>::max();
    start_as_lists(job.executor(1), stays.run(1), stream, {nullptr, place.data(), {}});
    ASSERT_TRUE(job.ring(1).needs_owner());
    std::thread([&] {
        refusals = 0;
        job.executor(1).break_group(job.stream(1).group(), {WEFT_BROKEN_TIMEOUT, 0, 0, 0});
    }).join();
    EXPECT_TRUE(abandoned.run(1).is_done());
    const auto header =
        MessageHeader{.sequence = 1, .bytes = bytes, .stream = stream.id().packed()}.encoded();
    const int peer = job.pair(0).near.get();
    ASSERT_EQ(write(peer, header.data(), header.size()), static_cast<ssize_t>(header.size()));
    ASSERT_EQ(write(peer, data.data(), bytes), static_cast<ssize_t>(bytes));
    EXPECT_TRUE(job.drive_until([&] { return stays.run(1).is_done(); }));
    EXPECT_EQ(stays.run(1).failure().code, end);
    if (end == WEFT_OK) {
        EXPECT_EQ(place, data);
    }
    job.executor(1).remove_group(group);
}

TEST_F(TaskRingTest, AThreadThatAbandonsAGroupDoesNotOwnAnother) {
    const Handing handing(refuse);
    expect_others_of_an_abandoned_group(WEFT_OK);
}

TEST_F(TaskRingTest, AThreadThatAbandonsAGroupByEntriesBreaksWhatIsLeftOfAnother) {
    const Handing handing(refuse, cancel_by_entries);
    expect_others_of_an_abandoned_group(WEFT_BROKEN_MEMORY);
}

// Cancellations do nothing.
bool may_cancel = true;
int forget_cancellations(io_uring* ring) {
    for (unsigned left = io_uring_sq_ready(ring); left > 0 && !may_cancel; --left) {
        io_uring_sqe& entry = ring->sq.sqes[(ring->sq.sqe_tail - left) & ring->sq.ring_mask];
        if (entry.opcode == IORING_OP_ASYNC_CANCEL) entry.opcode = IORING_OP_NOP;
    }
    return io_uring_submit(ring);
}

int forget_cancellation(io_uring* ring, io_uring_sync_cancel_reg* wanted) {
    return may_cancel ? io_uring_register_sync_cancel(ring, wanted) : 0;
}

// That this process has open.
std::ptrdiff_t eventfds() {
    return std::ranges::count_if(
        std::filesystem::directory_iterator("/proc/self/fd"), [](const auto& entry) {
            std::error_code closed;
            return std::filesystem::read_symlink(entry, closed) == "anon_inode:[eventfd]";
        });
}

TEST_F(TaskRingTest, WhatComesAfterACancellationGaveUpIsForNobody) {
    const Handing handing(forget_cancellations, forget_cancellation);
    constexpr std::size_t bytes = 1000;
    Job job(2, 256, second_ns / 20);
    std::vector<std::byte> data(bytes, std::byte{7});
    std::vector<std::byte> place(bytes);
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    may_cancel = false;
    const std::ptrdiff_t eventfds_before = eventfds();
    {
        Call call(job, subject_of("bcast", "binomial"), problem_of(2, bytes));
        call.start(1, buffers, {});
        job.executor(1).break_group(job.stream(1).group(), {WEFT_BROKEN_TIMEOUT, 0, 0, 0});
        EXPECT_TRUE(call.run(1).is_done());
        EXPECT_FALSE(job.ring(1).is_busy());
    }
    may_cancel = true;
    // Its descriptors stay open: entries name them by number.
    const std::ptrdiff_t left = eventfds() - eventfds_before;
    EXPECT_EQ(left, 2);
    EXPECT_EQ(job.transport(1).kept_open, std::vector<int>{job.pair(0).far.get()});
    // Its numbers are not given to others while its completions may come.
    Group group;
    group.context = 2;
    group.members = {0, 1};
    Stream stream(group, 0);
    job.executor(1).add_group(group);
    Call other(job, subject_of("bcast", "binomial"), problem_of(2, bytes));
    const std::ptrdiff_t eventfds_with_other = eventfds() - left;
    const auto header =
        MessageHeader{.bytes = bytes, .stream = job.stream(0).id().packed()}.encoded();
    const int peer = job.pair(0).near.get();
    ASSERT_EQ(write(peer, header.data(), header.size()), static_cast<ssize_t>(header.size()));
    ASSERT_EQ(write(peer, data.data(), bytes), static_cast<ssize_t>(bytes));
    const auto has_come = [&] { return place == data; };  // the kernel was not stopped
    EXPECT_TRUE(job.drive_until(has_come));
    EXPECT_TRUE(job.drive_until([&] { return eventfds() == eventfds_with_other; }))
        << "they are closed when all of it has been reported";
    // The socket is free for the next list.
    std::ranges::fill(place, std::byte{0});
    start_as_lists(job.executor(1), other.run(1), stream, {nullptr, place.data(), {}});
    const auto next =
        MessageHeader{.sequence = 1, .bytes = bytes, .stream = stream.id().packed()}.encoded();
    ASSERT_EQ(write(peer, next.data(), next.size()), static_cast<ssize_t>(next.size()));
    ASSERT_EQ(write(peer, data.data(), bytes), static_cast<ssize_t>(bytes));
    EXPECT_TRUE(job.drive_until([&] { return other.run(1).is_done(); }));
    EXPECT_EQ(other.run(1).failure().code, WEFT_OK);
    EXPECT_EQ(place, data);
    job.executor(1).remove_group(group);
}

// Linux ends what a thread submitted with that thread. A message may have come, or gone, in part.
class OwnerThatEnds : public TaskRingTest {
  protected:
    static constexpr std::size_t bytes = 1 << 20;

    void start(Rank rank) {
        call.reset();
        job = std::make_unique<Job>(2);
        // A message does not fit into them.
        constexpr int buffer_bytes = 16 * 1024;
        for (const int end : {own_end(0), own_end(1)}) {
            setsockopt(end, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
            setsockopt(end, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
        }
        call = std::make_unique<Call>(*job, subject_of("bcast", "binomial"), problem_of(2, bytes));
        call->start(rank, buffers, {});
    }
    // It ends when it would go on.
    void expect_own_fault(Rank rank) {
        ASSERT_TRUE(job->drive_until([&] { return call->run(rank).is_done(); }));
        EXPECT_EQ(call->run(rank).failure().code, WEFT_REFUSED_STATE);
        EXPECT_EQ(call->run(rank).failure().rank, rank);
        EXPECT_TRUE(job->transport(rank).errors.empty());
    }
    int other_end(Rank rank) { return own_end(1 - rank); }
    int own_end(Rank rank) {
        const Connection& pair = job->pair(0);
        return (rank == 0 ? pair.near : pair.far).get();
    }

    std::vector<std::byte> data = std::vector<std::byte>(bytes, std::byte{7});
    std::vector<std::byte> place = std::vector<std::byte>(bytes);
    const std::vector<Buffers> buffers = {{{}, data}, {{}, place}};
    std::unique_ptr<Job> job;
    std::unique_ptr<Call> call;
};

TEST_F(OwnerThatEnds, IsNotThePeersFaultWhateverHasCome) {
    for (const std::size_t come : {0u, 10u, 1000u}) {
        SCOPED_TRACE(come);
        const auto send = [&](std::size_t from, std::size_t to) {
            const auto header =
                MessageHeader{.bytes = bytes, .stream = job->stream(0).id().packed()}.encoded();
            std::vector<std::byte> message(header.begin(), header.end());
            message.resize(to);
            ASSERT_EQ(write(other_end(1), message.data() + from, to - from),
                      static_cast<ssize_t>(to - from));
        };
        std::thread([&] {
            start(1);
            send(0, come);
            int left = 1;
            while (ioctl(own_end(1), FIONREAD, &left) == 0 && left > 0) usleep(100);
        }).join();
        send(come, come + 20);
        expect_own_fault(1);
    }
}

TEST_F(OwnerThatEnds, IsNotThePeersFaultWhateverIsSent) {
    std::thread([&] { start(0); }).join();
    std::vector<std::byte> got(bytes);
    ASSERT_GT(read(other_end(0), got.data(), got.size()), 0);
    const auto drains = [&] {
        (void)recv(other_end(0), got.data(), got.size(), MSG_DONTWAIT);
        return call->run(0).is_done();
    };
    ASSERT_TRUE(job->drive_until(drains));
    expect_own_fault(0);
}

// ... even if its thread has ended before.
TEST_F(OwnerThatEnds, IsNotTakenForTheEndOfAConnection) {
    std::thread([&] {
        start(1);
        const std::vector<std::byte> some(10);
        ASSERT_EQ(write(other_end(1), some.data(), some.size()), 10);
        int left = 1;
        while (ioctl(own_end(1), FIONREAD, &left) == 0 && left > 0) usleep(100);
    }).join();
    job->pair(0).near = Fd();
    ASSERT_TRUE(job->drive_until([&] { return call->run(1).is_done(); }));
    EXPECT_EQ(call->run(1).failure().code, WEFT_BROKEN_RANK);
}

// Kept runs have not begun, and never will.
TEST_F(TaskRingTest, AnOfferedRunAndThoseBehindItEndWithTheirGroup) {
    Job job(2);
    Call offered(job, subject_of("allgather", "ring"), problem_of(2, 8));
    Call behind(job, subject_of("allgather", "ring"), problem_of(2, 8));
    std::vector<std::byte> send(8);
    std::vector<std::byte> recv(16);
    const Binding binding{send.data(), recv.data(), {}};
    Executor& executor = job.executor(1);
    executor.start(offered.run(1), job.stream(1), binding, /*is_offered=*/true);
    executor.start(behind.run(1), job.stream(1), binding);
    EXPECT_TRUE(executor.has_offered());
    executor.break_group(job.stream(1).group(), {.code = WEFT_BROKEN_RANK, .rank = 0});
    EXPECT_FALSE(executor.has_offered());
    for (Call* call : {&offered, &behind}) {
        EXPECT_TRUE(call->run(1).is_done());
        EXPECT_EQ(call->run(1).failure().code, WEFT_BROKEN_RANK);
    }
    EXPECT_EQ(executor.active(), 0u);
    EXPECT_EQ(job.ring(1).begun(), 0u);
}

// Rank 1 has an engine; rank 0 is driven by the test.
TEST_F(TaskRingTest, AListWhoseTurnComesWhenTheProgramLeavesIsSubmitted) {
    Job job(2);
    job.transport(1).grants_later = true;
    Call call(job, subject_of("allgather", "ring"), problem_of(2, 8));
    std::vector<std::vector<std::byte>> send(2, std::vector<std::byte>(8));
    std::vector<std::vector<std::byte>> recv(2, std::vector<std::byte>(16));
    const std::vector<Buffers> buffers = {{send[0], recv[0]}, {send[1], recv[1]}};
    Engine engine(job.executor(1), {.kind = EngineKind::kernel});
    call.start(0, buffers, {});
    {
        InCall in_call(engine);
        job.executor(1).start(call.run(1), job.stream(1), {send[1].data(), recv[1].data(), {}},
                              /*is_offered=*/true);
    }
    const auto begun = [&] {
        InCall in_call(engine);
        return !job.executor(1).has_offered() && job.ring(1).needs_attention();
    };
    while (!begun()) std::this_thread::yield();
    {
        InCall in_call(engine);
        engine.progress();
        job.transport(1).grant_all();  // is found by what the end of this call does
    }
    const std::int64_t deadline_ns = now_ns() + 20 * second_ns;
    while (!call.run(0).is_done() && now_ns() < deadline_ns) job.executor(0).progress();
    EXPECT_TRUE(call.run(0).is_done());
    InCall in_call(engine);
    (void)engine.wait_until([&] { return call.run(1).is_done(); },
                            {.deadline_ns = now_ns() + 20 * second_ns});
}

}  // namespace weft::test::task_ring_test
