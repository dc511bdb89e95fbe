// Task lists: what schedules are compiled to, and that it computes the same.
#include "offload/task_lists.h"

#include "base/random.h"
#include "lab/print/task_text.h"
#include "schedule/unattended.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::tasks_test {

std::vector<Schedule> build(const Subject& subject, const Trial& problem) {
    Result<std::vector<Schedule>> schedules = build_all(subject, problem);
    EXPECT_TRUE(schedules.is_ok()) << last_detail();
    return std::move(*schedules);
}

Subject subject_of(const std::string& collective, const std::string& name) {
    const algorithm::CollectiveSpec* spec = algorithm::find_spec(collective);
    return {spec, spec->find(name)};
}

Tasks compile_all_lanes(const Schedule& schedule, Protocol protocol = Protocol::eager) {
    return compile_tasks(schedule, std::vector<bool>(schedule.lanes().size(), true), protocol);
}

constexpr Region block(std::int64_t number) { return {Buffer::recv, 8 * number, 8}; }

// --- What is compiled ----------------------------------------------------------------------------

Trial allgather_in_place(Rank ranks) {
    Trial problem;
    problem.ranks = ranks;
    problem.bytes = 8;
    problem.in_place = true;
    return problem;
}

TEST(TaskLists, OfARingSendOnWhatHasArrived) {
    const auto schedules = build(subject_of("allgather", "ring"), allgather_in_place(4));
    EXPECT_EQ(to_text(compile_all_lanes(schedules[0])),
              "list 0, to rank 1\n"
              "    send    recv[0..8)\n"
              "    wait 0\n"
              "    send    recv[24..32)\n"
              "    wait 0\n"
              "    send    recv[16..24)\n"
              "list 1, from rank 3\n"
              "    recv    recv[24..32)\n"
              "    enable 0\n"
              "    recv    recv[16..24)\n"
              "    enable 0\n"
              "    recv    recv[8..16)\n"
              "rest\n"
              "   0  await   list 0 report 0\n"
              "   1  await   list 1 report 0\n");
}

TEST(TaskLists, OfStandardExchangeAreThoseOfTable1) {
    const auto schedules =
        build(subject_of("allgather", "standard_exchange"), allgather_in_place(4));
    EXPECT_EQ(to_text(compile_all_lanes(schedules[0])),
              "list 0, to rank 1\n"
              "    send    recv[0..8)\n"
              "list 1, from rank 1\n"
              "    recv    recv[8..16)\n"
              "    enable 0\n"
              "list 2, to rank 2\n"
              "    wait 0\n"
              "    send    recv[0..16)\n"
              "list 3, from rank 2\n"
              "    recv    recv[16..32)\n"
              "rest\n"
              "   0  await   list 0 report 0\n"
              "   1  await   list 1 report 0\n"
              "   2  await   list 2 report 0\n"
              "   3  await   list 3 report 0\n");
    EXPECT_TRUE(to_text(compile_all_lanes(schedules[1]))
                    .starts_with("list 0, to rank 0\n"
                                 "    send    recv[8..16)\n"
                                 "list 1, from rank 0\n"
                                 "    recv    recv[0..8)\n"
                                 "    enable 0\n"
                                 "list 2, to rank 3\n"
                                 "    wait 0\n"
                                 "    send    recv[0..16)\n"
                                 "list 3, from rank 3\n"
                                 "    recv    recv[16..32)\n"));
}

TEST(TaskLists, OfStandardExchangeWithRendezvousAreThoseOfTable2) {
    const auto schedules =
        build(subject_of("allgather", "standard_exchange"), allgather_in_place(4));
    EXPECT_TRUE(to_text(compile_all_lanes(schedules[0], Protocol::rendezvous))
                    .starts_with("list 0, to rank 1\n"
                                 "    wait 0\n"
                                 "    send    recv[0..8)\n"
                                 "list 1, from rank 1, control\n"
                                 "    cleared\n"
                                 "    enable 0\n"
                                 "list 2, from rank 1\n"
                                 "    recv    recv[8..16)\n"
                                 "    enable 1\n"
                                 "list 3, to rank 1, control\n"
                                 "    clear\n"
                                 "list 4, to rank 2\n"
                                 "    wait 1\n"
                                 "    wait 2\n"
                                 "    send    recv[0..16)\n"
                                 "list 5, from rank 2, control\n"
                                 "    cleared\n"
                                 "    enable 2\n"
                                 "list 6, from rank 2\n"
                                 "    recv    recv[16..32)\n"
                                 "list 7, to rank 2, control\n"
                                 "    clear\n"
                                 "rest\n"));
}

// The third segment is not received before the first has been passed on.
TEST(TaskLists, OfARepeatKeepItsWindow) {
    Trial problem;
    problem.ranks = 3;
    problem.bytes = 28;
    problem.tuning = {.segment_bytes = 8, .window = 2};
    const auto schedules = build(subject_of("bcast", "chain"), problem);
    EXPECT_EQ(to_text(compile_all_lanes(schedules[1])),
              "list 0, from rank 0\n"
              "    recv    recv[0..8)\n"
              "    enable 0\n"
              "    recv    recv[8..16)\n"
              "    enable 0\n"
              "    wait 1\n"
              "    recv    recv[16..24)\n"
              "    enable 0\n"
              "    wait 1\n"
              "    recv    recv[24..28)\n"
              "    enable 0\n"
              "list 1, to rank 2\n"
              "    wait 0\n"
              "    send    recv[0..8)\n"
              "    enable 1\n"
              "    wait 0\n"
              "    send    recv[8..16)\n"
              "    enable 1\n"
              "    wait 0\n"
              "    send    recv[16..24)\n"
              "    wait 0\n"
              "    send    recv[24..28)\n"
              "rest\n"
              "   0  await   list 0 report 0\n"
              "   1  await   list 1 report 0\n");
}

// Rank 0 reduces what it gets from rank 1, and passes it on to rank 2.
Schedule reducing() {
    ScheduleBuilder builder(0, 3);
    for (std::int64_t i = 0; i < 2; ++i) {
        const Region arrived = builder.scratch(8);
        const OpId there = builder.recv(arrived, 1);
        const OpId reduced = builder.reduce(arrived, block(i), {there});
        builder.send(block(i), 2, {reduced});
    }
    return *builder.seal();
}

TEST(TaskLists, AndTheRestTellEachOther) {
    EXPECT_EQ(to_text(compile_all_lanes(reducing())),
              "list 0, from rank 1\n"
              "    recv    scratch[0..8)\n"
              "    report 0\n"
              "    recv    scratch[64..72)\n"
              "list 1, to rank 2\n"
              "    go\n"
              "    send    recv[0..8)\n"
              "    go\n"
              "    send    recv[8..16)\n"
              "rest\n"
              "   0  await   list 0 report 0\n"
              "   1  reduce  recv[0..8) = scratch[0..8) (op) recv[0..8)      after 0\n"
              "   2  enable  list 1                                          after 1\n"
              "   3  await   list 0 report 1\n"
              "   4  reduce  recv[8..16) = scratch[64..72) (op) recv[8..16)  after 3\n"
              "   5  enable  list 1                                          after 2, 4\n"
              "   6  await   list 1 report 0\n");
    EXPECT_EQ(compile_all_lanes(reducing()).rest.scratch_bytes(), reducing().scratch_bytes());
}

TEST(TaskLists, LeaveOtherLanesToTheRest) {
    EXPECT_EQ(to_text(compile_tasks(reducing(), {false, true})),
              "list 0, to rank 2\n"
              "    go\n"
              "    send    recv[0..8)\n"
              "    go\n"
              "    send    recv[8..16)\n"
              "rest\n"
              "   0  recv    scratch[0..8) <- rank 1\n"
              "   1  reduce  recv[0..8) = scratch[0..8) (op) recv[0..8)      after 0\n"
              "   2  enable  list 0                                          after 1\n"
              "   3  recv    scratch[64..72) <- rank 1\n"
              "   4  reduce  recv[8..16) = scratch[64..72) (op) recv[8..16)  after 3\n"
              "   5  enable  list 0                                          after 2, 4\n"
              "   6  await   list 0 report 0\n");
}

TEST(TaskLists, ClearAMessageWhenItsBufferIsFree) {
    ScheduleBuilder builder(0, 2);
    const OpId sent = builder.send(block(0), 1);
    builder.recv(block(0), 1, {sent});
    builder.recv(block(1), 1);
    EXPECT_TRUE(to_text(compile_tasks(*builder.seal(), {true, true}, Protocol::rendezvous))
                    .starts_with("list 0, to rank 1\n"
                                 "    wait 0\n"
                                 "    send    recv[0..8)\n"
                                 "    enable 1\n"
                                 "list 1, from rank 1, control\n"
                                 "    cleared\n"
                                 "    enable 0\n"
                                 "list 2, from rank 1\n"
                                 "    wait 2\n"
                                 "    recv    recv[0..8)\n"
                                 "    recv    recv[8..16)\n"
                                 "list 3, to rank 1, control\n"
                                 "    wait 1\n"
                                 "    clear\n"
                                 "    enable 2\n"
                                 "    clear\n"));
}

// Both ends of a lane know how large a message is.
TEST(TaskLists, ClearOnlyMessagesThatAreLarge) {
    ScheduleBuilder builder(0, 3);
    const OpId arrived = builder.recv({Buffer::recv, 0, 100}, 1);
    builder.recv({Buffer::recv, 100, 99}, 1);
    builder.send({Buffer::recv, 0, 99}, 2, {arrived});
    builder.send({Buffer::recv, 0, 100}, 2, {arrived});
    builder.send({Buffer::recv, 0, 99}, 1);
    const Tasks tasks =
        compile_tasks(*builder.seal(), {true, true, true}, Protocol::rendezvous, 100);
    EXPECT_TRUE(
        to_text(tasks).starts_with("list 0, to rank 1\n"
                                   "    send    recv[0..99)\n"
                                   "list 1, from rank 1\n"
                                   "    recv    recv[0..100)\n"
                                   "    enable 0\n"
                                   "    recv    recv[100..199)\n"
                                   "list 2, to rank 1, control\n"
                                   "    clear\n"
                                   "list 3, to rank 2\n"
                                   "    wait 0\n"
                                   "    send    recv[0..99)\n"
                                   "    wait 1\n"
                                   "    send    recv[0..100)\n"
                                   "list 4, from rank 2, control\n"
                                   "    cleared\n"
                                   "    enable 1\n"))
        << to_text(tasks);
    EXPECT_EQ(tasks.semaphores, 2u);
    EXPECT_EQ(tasks.dependences, 1u);
}

TEST(TaskLists, WaitOnceForWhatAnEarlierWaitImplies) {
    ScheduleBuilder builder(0, 3);
    const OpId first = builder.recv(block(0), 1);
    const OpId second = builder.recv(block(1), 1);
    builder.send(block(1), 2, {builder.join({first, second}), first});
    builder.send(block(0), 2, {first});
    const Tasks tasks = compile_all_lanes(*builder.seal());
    EXPECT_EQ(tasks.semaphores, 1u);
    EXPECT_TRUE(
        to_text(tasks).starts_with("list 0, from rank 1\n"
                                   "    recv    recv[0..8)\n"
                                   "    recv    recv[8..16)\n"
                                   "    enable 0\n"
                                   "list 1, to rank 2\n"
                                   "    wait 0\n"
                                   "    send    recv[8..16)\n"
                                   "    send    recv[0..8)\n"));
}

// --- How much -------------------------------------------------------------------------------------

std::size_t tasks_of(const Tasks& tasks) {
    std::size_t count = tasks.rest.ops().size();
    for (const TaskList& list : tasks.lists) count += list.tasks.size();
    return count;
}

TEST(TaskLists, GrowWithTheMessages) {
    Trial problem;
    problem.ranks = 1024;
    problem.bytes = 8;
    for (const char* name : {"flat", "shift", "pairwise", "bruck"}) {
        SCOPED_TRACE(name);
        const auto [spec, algorithm] = subject_of("alltoall", name);
        Result<Schedule> schedule =
            algorithm::build_rank(*algorithm, spec->problem(problem, 0, /*in_place=*/false));
        ASSERT_TRUE(schedule.is_ok()) << last_detail();
        EXPECT_LE(tasks_of(compile_all_lanes(*schedule)), 6 * schedule->ops().size());
    }
    problem.ranks = 3;
    problem.bytes = 1000 * 64;
    problem.tuning = {.segment_bytes = 64, .window = 4};
    const auto schedules = build(subject_of("bcast", "chain"), problem);
    EXPECT_LE(tasks_of(compile_all_lanes(schedules[1])), 6u * 1000);
}

// As what stands before and behind a fence.
TEST(TaskLists, AreJoinedByTheRestWhereSemaphoresWouldBeAProduct) {
    constexpr Rank ranks = 1000;
    ScheduleBuilder builder(0, ranks);
    for (Rank r = 1; r < ranks; ++r) builder.recv(block(r), r);
    builder.fence();
    for (Rank r = 1; r < ranks; ++r) builder.send(block(r), r);
    const Tasks tasks = compile_all_lanes(*builder.seal());
    EXPECT_EQ(tasks.semaphores, 0u);
    EXPECT_LE(tasks_of(tasks), 6u * ranks);
}

// --- What is worth it -----------------------------------------------------------------------------

std::vector<bool> worth(const Schedule& schedule) {
    return worth_offloading(schedule, std::vector<bool>(schedule.lanes().size(), true));
}

using Bools = std::vector<bool>;

TEST(WorthOffloading, AreMessagesThatDependOnOneAnother) {
    ScheduleBuilder builder(0, 4);
    const OpId arrived = builder.recv(block(0), 1);
    const OpId reduced = builder.reduce(builder.scratch(8), block(0), {arrived});
    builder.send(block(0), 2, {reduced});
    builder.recv(block(1), 3);
    builder.send(block(2), 3);
    const Schedule schedule = *builder.seal();
    EXPECT_EQ(worth(schedule), (Bools{true, true, false, false}));
    EXPECT_EQ(worth_offloading(schedule, {false, true, true, true}),
              (Bools{false, true, false, false}));
}

TEST(WorthOffloading, AreMessagesThatTakeTime) {
    ScheduleBuilder builder(0, 2);
    builder.send({Buffer::send, 0, 4 * 1024 + 1}, 1);
    builder.recv({Buffer::recv, 0, 4 * 1024 + 1}, 1);
    EXPECT_EQ(worth(*builder.seal()), (Bools{true, true}));
}

TEST(WorthOffloading, AreMoreMessagesThanAreLeftToTheProgram) {
    for (const auto& [count, bytes, is_worth] :
         {std::tuple<Rank, std::int64_t, bool>{32, 512, false}, {33, 8, true}, {5, 4096, true}}) {
        ScheduleBuilder sends(0, 40);
        ScheduleBuilder recvs(0, 40);
        for (Rank r = 1; r <= count; ++r) {
            sends.send({Buffer::send, 0, bytes}, r);
            recvs.recv({Buffer::recv, r * bytes, bytes}, r);
        }
        const Bools expected(static_cast<std::size_t>(count), is_worth);
        EXPECT_EQ(worth(*sends.seal()), expected) << count;
        EXPECT_EQ(worth(*recvs.seal()), expected) << count;
    }
}

TEST(WorthOffloading, AreRepeats) {
    ScheduleBuilder builder(0, 2);
    builder.repeat_begin({.total_bytes = 16, .block_bytes = 8, .window = 2});
    builder.recv(block(0), 1);
    builder.repeat_end();
    EXPECT_EQ(worth(*builder.seal()), (Bools{true}));
}

TEST(WorthOffloading, AreMessagesThatWaitForTheirCts) {
    ScheduleBuilder builder(0, 3);
    builder.send({Buffer::recv, 0, 100}, 1);
    builder.send({Buffer::recv, 0, 99}, 2);
    EXPECT_EQ(worth_offloading(*builder.seal(), {true, true}, 100), (Bools{true, false}));
}

TEST(WorthOffloading, LooksThroughOperationsNamedBeforeTheirPredecessors) {
    ScheduleBuilder builder(0, 3);
    const OpId sent = builder.send(block(0), 2);
    const OpId arrived = builder.recv(block(0), 1);
    builder.order(arrived, sent);
    EXPECT_EQ(worth(*builder.seal()), (Bools{true, true}));
}

TEST(Unattended, AreEndsOfListsThatNothingIsSentAfter) {
    const Schedule rest = compile_all_lanes(reducing()).rest;
    EXPECT_EQ(find_urgent(rest), (Bools{true, true, true, true, true, true, false}));
    ScheduleBuilder builder(0, 100);
    for (Rank r = 1; r < 100; ++r) builder.recv({Buffer::recv, r * 4096, 4096}, r);
    EXPECT_EQ(find_urgent(compile_all_lanes(*builder.seal()).rest), Bools(99, false));
}

// --- What it computes -----------------------------------------------------------------------------

enum class Offloaded { all, none, some };

// Compiles the lanes of all ranks. With rendezvous, both ends of a lane are offloaded, or neither.
std::vector<Tasks> compile(std::span<const Schedule> schedules, Offloaded which, Protocol protocol,
                           std::uint64_t seed) {
    std::vector<Tasks> tasks;
    for (const Schedule& schedule : schedules) {
        std::vector<bool> offloaded;
        for (const ScheduleLane& lane : schedule.lanes()) {
            const Rank from = lane.sends ? schedule.rank() : lane.peer;
            const Rank to = lane.sends ? lane.peer : schedule.rank();
            const bool differs = protocol == Protocol::eager && lane.sends;
            const auto number = static_cast<std::uint64_t>((from * 100 + to) * 2 + differs);
            const bool some = Prng(seed * 1000003 + number).one_in(2);
            offloaded.push_back(which == Offloaded::all || (which == Offloaded::some && some));
        }
        const std::int64_t cleared_bytes_min = seed % 2 == 0 ? 0 : 20;
        tasks.push_back(compile_tasks(schedule, offloaded, protocol, cleared_bytes_min));
    }
    return tasks;
}

class CompiledAlgorithms : public testing::TestWithParam<Subject> {
  protected:
    void SetUp() override {
        if (!is_its_turn(5)) GTEST_SKIP() << not_its_turn;
    }
};

TEST_P(CompiledAlgorithms, ComputeWhatTheCollectivePromises) {
    Grid grid;
    grid.ranks = {1, 2, 3, 4, 5, 7, 8, 9};
    grid.bytes = {0, 8, 56};
    grid.pipelines = {{8, 1}, {16, 2}, {30, 3}};
    std::uint64_t seed = 0;
    for_each_problem(GetParam(), grid, [&](const Trial& problem) {
        const Postcondition promise = promise_of(*GetParam().first, problem);
        const std::vector<Schedule> schedules = build(GetParam(), problem);
        for (Protocol protocol : {Protocol::eager, Protocol::rendezvous}) {
            for (Offloaded which : {Offloaded::all, Offloaded::none, Offloaded::some}) {
                for (int i = 0; i < 4; ++i) {
                    const std::vector<Tasks> tasks = compile(schedules, which, protocol, ++seed);
                    ASSERT_EQ(Execution(promise, strictest(promise)).run(tasks, seed), "")
                        << to_text(GetParam(), problem) << " seed=" << seed
                        << (protocol == Protocol::eager ? " eager" : " rendezvous");
                }
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(All, CompiledAlgorithms, testing::ValuesIn(everything()), subject_name);

// --- That the tests would notice ------------------------------------------------------------------

bool holds_back(const Task& task) {
    return task.kind == Task::Kind::wait || task.kind == Task::Kind::go ||
           task.kind == Task::Kind::cleared;
}

// Whether some order of execution shows that something is wrong.
bool is_noticed(const Subject& subject, const Trial& problem, std::span<const Tasks> tasks) {
    const Postcondition promise = promise_of(*subject.first, problem);
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        if (!Execution(promise, sum_of_integers).run(tasks, seed).empty()) return true;
    }
    return false;
}

// Every task that holds a message back, moved behind the message.
void expect_every_wait_is_needed(const Subject& subject, Protocol protocol) {
    Trial problem = allgather_in_place(subject.first->reduces ? 5 : 4);
    problem.in_place = false;
    problem.element_bytes = 8;
    problem.bytes = 40;
    std::vector<Tasks> tasks = compile(build(subject, problem), Offloaded::all, protocol, 0);
    int waits = 0;
    for (Tasks& t : tasks) {
        for (TaskList& list : t.lists) {
            for (std::size_t i = 0; i < list.tasks.size(); ++i) {
                if (!holds_back(list.tasks[i])) continue;
                const auto wait = list.tasks.begin() + static_cast<std::ptrdiff_t>(i);
                const auto message = std::find_if_not(wait, list.tasks.end(), holds_back);
                const std::vector<Task> right = list.tasks;
                std::rotate(wait, wait + 1, message + 1);
                EXPECT_TRUE(is_noticed(subject, problem, tasks))
                    << to_text(subject, problem) << " rank " << t.rest.rank() << " task " << i
                    << " moved in\n"
                    << to_text(t);
                list.tasks = right;
                ++waits;
            }
        }
    }
    EXPECT_GT(waits, 0);
}

TEST(CompiledAlgorithms, DependOnEveryWait) {
    for (auto [collective, name] :
         {std::pair{"allgather", "ring"}, std::pair{"allgather", "standard_exchange"},
          std::pair{"allgather", "bruck"}, std::pair{"bcast", "binomial"},
          std::pair{"gather", "binomial"}, std::pair{"reduce", "binomial"},
          std::pair{"allreduce", "ring"}, std::pair{"allreduce", "recursive_doubling"}}) {
        for (Protocol protocol : {Protocol::eager, Protocol::rendezvous}) {
            expect_every_wait_is_needed(subject_of(collective, name), protocol);
        }
    }
}

}  // namespace weft::test::tasks_test
