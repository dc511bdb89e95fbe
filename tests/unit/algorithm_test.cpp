// Every algorithm computes what its collective promises: any small number of ranks, any root,
// several counts, in place or not, in many random legal orders of execution.
#include "support/execution.h"
#include "support/interpret.h"
#include "support/problems.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::algorithm_test {

constexpr std::uint64_t seeds = 20;

class Algorithms : public testing::TestWithParam<Subject> {
  protected:
    void SetUp() override {
        if (!is_its_turn(5)) GTEST_SKIP() << not_its_turn;
    }
    // All seeds of one problem; a seed also decides how pipelines are cut.
    void execute(Trial problem, const Arithmetic& arithmetic) {
        constexpr std::int64_t segments[] = {8, 16, 30, 128 * 1024};
        constexpr std::uint32_t windows[] = {1, 2, 3, 8, 20};
        const Postcondition promise = promise_of(*GetParam().first, problem);
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            problem.tuning.segment_bytes = segments[seed % 4];
            problem.tuning.window = windows[seed % 5];
            Result<std::vector<Schedule>> schedules = build_all(GetParam(), problem);
            ASSERT_TRUE(schedules.is_ok()) << last_detail();
            ASSERT_EQ(Execution(promise, arithmetic).run(*schedules, seed), "")
                << to_text(GetParam(), problem) << " seed=" << seed << ' ' << arithmetic.name;
        }
    }
};

TEST_P(Algorithms, ComputeWhatTheCollectivePromises) {
    Grid grid;
    for (Rank ranks = 1; ranks <= 17; ++ranks) {
        if (runs_all() || ranks < 9 || ranks == 12 || ranks == 17) grid.ranks.push_back(ranks);
    }
    grid.bytes = {0, 8, 56, 152};
    if (!runs_all()) grid.all_roots_ranks = 5;
    for_each_problem(GetParam(), grid, [&](const Trial& problem) {
        execute(problem, strictest(promise_of(*GetParam().first, problem)));
        if (GetParam().first->reduces) execute(problem, sum_of_reals);
    });
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(everything()), subject_name);

// Sending first and receiving then, on both sides, needs a buffer that nobody has promised.
TEST(Interpreter, SeesADeadlock) {
    std::vector<Schedule> schedules;
    for (Rank r = 0; r < 2; ++r) {
        ScheduleBuilder builder(r, 2);
        OpId sent = builder.send({Buffer::recv, 0, 8}, 1 - r);
        builder.recv({Buffer::recv, 8, 8}, 1 - r, {sent});
        schedules.push_back(*builder.seal());
    }
    std::vector<std::byte> memory(16);
    std::vector<Buffers> buffers(2, {{}, memory});
    std::string failure = interpret(schedules, buffers, Reduction{}, 1).failure;
    EXPECT_NE(failure.find("deadlock"), failure.npos) << failure;
}

// A receive that lands where a send still reads shows in some order.
TEST(Interpreter, SeesAHazard) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<Schedule> schedules;
        std::vector<std::uint64_t> memory = {0, 1};
        std::vector<Buffers> buffers;
        for (Rank r = 0; r < 2; ++r) {
            ScheduleBuilder builder(r, 2);
            builder.send({Buffer::recv, 0, 8}, 1 - r);
            builder.recv({Buffer::recv, 0, 8}, 1 - r);
            schedules.push_back(*builder.seal());
        }
        for (std::uint64_t& m : memory) {
            buffers.push_back({{}, std::as_writable_bytes(std::span(&m, 1))});
        }
        EXPECT_EQ(interpret(schedules, buffers, Reduction{}, seed).failure, "");
        if (memory[0] != 1 || memory[1] != 0) ++wrong;
    }
    EXPECT_GT(wrong, 0);
}

TEST(Interpreter, SeesAnAccessOutsideTheBuffer) {
    ScheduleBuilder builder(0, 1);
    builder.copy({Buffer::recv, 0, 8}, {Buffer::recv, 12, 8});
    std::vector<Schedule> schedules = {*builder.seal()};
    std::vector<std::byte> memory(16);
    std::vector<Buffers> buffers = {{{}, memory}};
    std::string failure = interpret(schedules, buffers, Reduction{}, 1).failure;
    EXPECT_NE(failure.find("outside"), failure.npos) << failure;
}

}  // namespace weft::test::algorithm_test
