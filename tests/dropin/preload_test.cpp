// What the library to preload does to processes: to programs that do not need it, that fail, that fork, and what the
// program `weft preload` says.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "dropin/preload.h"
#include "mpi/mpis.h"
#include "support/pattern.h"
#include "support/process.h"

namespace weft::test {
namespace {

class Preloaded : public OnEveryMpi {
  protected:
    void SetUp() override {
        OnEveryMpi::SetUp();
        if (const std::string absence = preload_of(mpi().name).absence; !absence.empty())
            GTEST_SKIP() << absence;
    }

    static std::string program() {
        const std::string folder = WEFT_BUILD_DIR "/tests/dropin/" + std::string(mpi().name);
        std::filesystem::create_directories(folder);
        const std::string path = folder + "/small", own = path + "." + std::to_string(getpid());
        const Finished done =
            run(mpi().around("mpicc -std=c99 -pedantic -Wall -Wextra -Werror " WEFT_SOURCE_DIR
                             "/tests/dropin/programs/small.c -o " +
                             own));
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        std::filesystem::rename(own, path);
        return path;
    }
    static Finished alone(const std::string& what, const std::string& settings = "") {
        return run(mpi().job(2, program() + " " + what, settings));
    }
    static Finished with_weft(const std::string& what, const std::string& settings = "") {
        return alone(what, preload_of(mpi().name).settings + " " + settings);
    }
    // The MPI did everything, rightly, and one sentence says why.
    static void expect_left_alone(const Finished& done, const std::string& sentence) {
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "right\n"));
        EXPECT_EQ(matches_in(done.err, sentence).size(), 1u) << done.err;
        EXPECT_TRUE(matches_in(done.err, "MPI_Iallreduce +[1-9]").empty()) << done.err;
    }
};

INSTANTIATE_TEST_SUITE_P(On, Preloaded, testing::ValuesIn(mpis()), name_of_mpi);

// Of the ranks' lines "rank 0: threads 2 ...".
std::set<std::string> all_of(const std::string& text, const std::string& number) {
    std::set<std::string> values;
    for (const Match& match : matches_in(text, ": (?:[a-z ]+ \\d+ )*" + number + " (\\d+)"))
        values.insert(match[1]);
    return values;
}

TEST_P(Preloaded, ProgramsOfMessagesAloneGetNoThreadsDescriptorsOrSwitches) {
    const Finished native = alone("messages"), done = with_weft("messages");
    ASSERT_EQ(native.status, 0) << native.err;
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(all_of(done.out, "threads"), all_of(native.out, "threads")) << done.out << native.out;
    EXPECT_EQ(all_of(done.out, "more threads"), std::set<std::string>{"0"}) << done.out;
    EXPECT_EQ(all_of(done.out, "more descriptors"), std::set<std::string>{"0"}) << done.out;
    // A thread of the MPI's own may wake up for itself.
    const std::set<std::string> switches = all_of(done.out, "switches");
    EXPECT_FALSE(switches.empty()) << done.out;
    for (const std::string& number : switches) EXPECT_LE(std::stol(number), 2) << native.out;
}

TEST_P(Preloaded, ADeadRankEndsTheJobAsItWouldWithout) {
    // The launcher may hear first of the kill, or of a rank that Weft has told of it and whose error handler aborts.
    const Finished native = alone("killed"), done = with_weft("killed");
    EXPECT_NE(native.status, 0);
    EXPECT_NE(done.status, 0) << done.out << done.err;
    EXPECT_NE(done.status, 124) << "it had to be stopped";
    EXPECT_FALSE(contains(done.out, "went on"));
}

TEST_P(Preloaded, AbortEndsTheJobAsItWouldWithout) {
    const Finished native = alone("aborts"), done = with_weft("aborts");
    EXPECT_EQ(done.status, native.status) << done.out << done.err;
    EXPECT_NE(done.status, 0);
    EXPECT_NE(done.status, 124) << "it had to be stopped";
}

TEST_P(Preloaded, ChildrenWithoutExecEndByThemselves) {
    const Finished done = with_weft("forks");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +6 +0 ").empty()) << done.err;
}

TEST_P(Preloaded, RanksThatDisableUnlikeFunctionsLeaveAllToTheMpi) {
    const std::string unlike =
        "sh -c 'case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in 1) export WEFT_DISABLE=ibcast; esac; "
        "exec " +
        program() + " reduce'";
    const Finished done = run(mpi().job(2, unlike, preload_of(mpi().name).settings));
    expect_left_alone(done, "weft: the MPI is left alone: [^\n]* of rank 1 differ from rank 0's");
}

TEST_P(Preloaded, AnEngineThatWouldStandStillLeavesAllToTheMpi) {
    expect_left_alone(with_weft("reduce", "WEFT_ENGINE=manual"),
                      "weft: the MPI is left alone: the engine manual");
}

TEST_P(Preloaded, DisabledFunctionsAreLeftToTheMpi) {
    const Finished done = with_weft("reduce", "WEFT_DISABLE=ibcast,MPI_Iallreduce");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +0 +1 .*left 1: disabled").empty())
        << done.err;
}

// --- weft preload ------------------------------------------------------------------------------------

const std::string preload_program = WEFT_BUILD_DIR "/weft preload ";

TEST_P(Preloaded, TheProgramSetsTheEnvironment) {
    const std::string part = mpi().name == std::string("openmpi") ? "openmpi" : "mpich";
    const std::string before = preload_program + "--mpi " + part + " --check ";
    const Finished done = run(mpi().job(2, before + program() + " reduce", "WEFT_STATS=1"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_TRUE(contains(done.err, "weft: check: each of 2 ranks has talked to every other\n"));
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

TEST_P(Preloaded, TheLauncherMayStandBehindTheProgram) {
    const Finished done = run(mpi().around("timeout 55 " + preload_program + "mpiexec -n 2 env " +
                                           "WEFT_STATS=1 " + program() + " reduce"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

class PreloadProgram : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
        if (const std::string absence = preload_of("mpich").absence; !absence.empty())
            GTEST_SKIP() << absence;
    }
};

TEST_F(PreloadProgram, PrintsTheSetting) {
    EXPECT_EQ(run(preload_program + "--print").out,
              "LD_PRELOAD=" WEFT_BUILD_DIR "/libweft_mpi.so\n");
}

// The library is loaded into every process of a job script.
TEST_F(PreloadProgram, ProgramsWithoutAnMpiRunAsEver) {
    const Finished done = run(preload_program + "sh -c 'echo as ever; exit 3'");
    EXPECT_EQ(done.status, 3);
    EXPECT_EQ(done.out, "as ever\n");
    EXPECT_EQ(done.err, "");
}

TEST_F(PreloadProgram, KeepsWhatElseIsPreloaded) {
    const std::string other = "/lib/no_such.so";
    const Finished done =
        run("LD_PRELOAD=" + other + " " + preload_program + "sh -c 'echo $LD_PRELOAD'");
    EXPECT_EQ(done.out, WEFT_BUILD_DIR "/libweft_mpi.so:" + other + "\n");
}

TEST_F(PreloadProgram, RefusesWhatItCannotRun) {
    const Finished nothing = run(preload_program);
    EXPECT_EQ(nothing.status, 2);
    EXPECT_EQ(nothing.err, "weft preload: no program given\n");
    const Finished missing = run(preload_program + "/no/such/program");
    EXPECT_EQ(missing.status, 2);
    EXPECT_TRUE(contains(missing.err, "cannot run /no/such/program: No such file or directory"));
    EXPECT_NE(run(preload_program + "--mpi lam true").status, 0);
}

}  // namespace
}  // namespace weft::test
