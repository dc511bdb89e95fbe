// `weft simulate` as a user calls it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test {
namespace {

Finished simulate(const std::string& arguments) {
    return run(WEFT_BUILD_DIR "/weft simulate " + arguments);
}

// A ping-pong of one byte.
class SimulateGoal : public testing::Test {
  protected:
    SimulateGoal() {
        std::ofstream(path_) << "num_ranks 2\n"
                                "rank 0 {\nsend 1b to 1 tag 1\nrecv 1b from 1 tag 2\n}\n"
                                "rank 1 {\nr: recv 1b from 0 tag 1\ns: send 1b to 0 tag 2\n"
                                "s requires r\n}\n";
    }

    Finished simulated(const std::string& arguments) {
        return simulate("--goal '" + path_ + "' --compat lgs " + arguments);
    }

    const Folder folder_;
    const std::string path_ = folder_ / "ping_pong.goal";
};

TEST_F(SimulateGoal, PrintsText) {
    const Finished done = simulated("");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out,
              "L 2500, o 1500, g 1000, G 6, O 0, S 65535\n"
              "events           6\n"
              "rank 0           11000 ns\n"
              "rank 1           7000 ns\n"
              "end              11000 ns, rank 0\n");
}

TEST_F(SimulateGoal, PrintsCsvAndJson) {
    EXPECT_EQ(simulated("-L 5000 -o1000 --format csv").out, "rank,end_ns\n0,14000\n1,8000\n");
    EXPECT_EQ(simulated("--format json --latency 5000").out,
              "{\"parameters\": {\"L\": 5000, \"o\": 1500, \"g\": 1000, \"G\": 6, \"O\": 0, "
              "\"S\": 65535},\n \"events\": 6,\n \"end_ns\": 16000,\n \"ranks\": [16000, 9500]}\n");
}

TEST_F(SimulateGoal, ReadsTheStandardInput) {
    const Finished done =
        run("cat '" + path_ +
            "' | " WEFT_BUILD_DIR "/weft simulate --goal - --compat lgs --format csv");
    EXPECT_EQ(done.out, "rank,end_ns\n0,11000\n1,7000\n") << done.err;
}

TEST_F(SimulateGoal, RefusesWithASentence) {
    Finished done = simulate("--goal /none --compat lgs");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "weft simulate: cannot read /none")) << done.err;
    std::ofstream(path_) << "num_ranks 2\nrank 0 {\nsend 1b to 7\n}\n";
    done = simulated("");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(contains(done.err, "ping_pong.goal, line 3: '7'; expected 0..1")) << done.err;
    std::ofstream(path_) << "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}\n";
    done = simulated("");
    EXPECT_EQ(done.status, 2);
    EXPECT_TRUE(
        contains(done.err, "ping_pong.goal: rank 1 has no receive for a message from rank 0"))
        << done.err;
    EXPECT_NE(simulated("-L -1").status, 0);
}

TEST_F(SimulateGoal, SimulatesWhatWeftScheduleWrites) {
    const Finished done =
        run(WEFT_BUILD_DIR "/weft schedule barrier -n 16 --format goal | " WEFT_BUILD_DIR
                           "/weft simulate --goal - --compat lgs -G 0");
    EXPECT_TRUE(contains(done.out, "\nend              22000 ns, rank 0\n"))
        << done.out << done.err;
}

// 60 random programs; in a run of all tests 1,000.
class SimulateRandomGoal : public testing::TestWithParam<int> {};

TEST_P(SimulateRandomGoal, AgreesWithAnInterpreter) {
    if (run("python3 --version").status != 0) GTEST_SKIP() << "no python3";
    const int programs = runs_all() ? 200 : 12;
    const Finished compared = run(
        "python3 -B " WEFT_SOURCE_DIR "/tests/simulate/compare_goal.py " WEFT_BUILD_DIR "/weft " +
        std::to_string(programs) + " " + std::to_string(1 + GetParam() * programs));
    EXPECT_EQ(compared.status, 0) << compared.out << compared.err;
}

INSTANTIATE_TEST_SUITE_P(Fifth, SimulateRandomGoal, testing::Range(0, 5));

}  // namespace
}  // namespace weft::test
