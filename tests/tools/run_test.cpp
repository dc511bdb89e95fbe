// What `weft run` promises, tried from outside with small shell programs as ranks.
#include <sched.h>

#include "support/process.h"
#include "support/test.h"

namespace weft::test::run_test {

const std::string weft_run = WEFT_BUILD_DIR "/weft run ";

TEST(RunCommand, TakesTheNumberOfRanksAsLaunchersForMpiSpellIt) {
    for (const char* spelling :
         {"-np 2", "--np 2", "--np=2", "-np2", "-np=2", "--prefix -np 2", "--grace 3 -np 2"}) {
        const Finished job =
            expect_success(weft_run + spelling + " sh -c 'echo $WEFT_RANKS $0' -np");
        EXPECT_EQ(sorted_lines(job.out).size(), 2u) << spelling << job.out;
        EXPECT_TRUE(contains(job.out, "2 -np\n")) << spelling;
    }
}

TEST(Program, NamesAnUnknownCommandAndListsTheKnownOnes) {
    const Finished unknown = run(WEFT_BUILD_DIR "/weft rnu -n 2 true");
    EXPECT_EQ(unknown.status, 2);
    EXPECT_TRUE(unknown.err.starts_with("weft: rnu is not a command; expected run, bench, "));
    EXPECT_TRUE(unknown.err.find("enter-node") == std::string::npos) << "is not for users";
    const Finished option = run(WEFT_BUILD_DIR "/weft -np 2 true");
    EXPECT_EQ(option.status, 2);
    EXPECT_TRUE(option.err.starts_with("weft: -np is not a command; expected run, ")) << option.err;
    const Finished none = run(WEFT_BUILD_DIR "/weft");
    EXPECT_EQ(none.status, 2);
    EXPECT_TRUE(none.err.starts_with("weft: no command; expected run, "));
    EXPECT_EQ(run(WEFT_BUILD_DIR "/weft --version").status, 0);
    EXPECT_EQ(run(WEFT_BUILD_DIR "/weft --help").status, 0);
}

TEST(Run, TellsEveryRankWhoItIs) {
    Finished job = expect_success(weft_run + "-n 3 sh -c 'echo $WEFT_RANK of $WEFT_RANKS'");
    EXPECT_EQ(sorted_lines(job.out), (Lines{"0 of 3", "1 of 3", "2 of 3"}));
    EXPECT_EQ(job.err, "");
}

TEST(Run, StartsAJobOfItsOwnAlsoAsARankOfAnother) {
    Finished job = run("WEFT_RANK=3 WEFT_RANKS=4 WEFT_STARTUP_DIR=/nowhere " + weft_run +
                       "-n 1 sh -c 'echo $WEFT_RANK of $WEFT_RANKS in ${WEFT_STARTUP_DIR-none}'");
    EXPECT_EQ(job.out, "0 of 1 in none\n") << job.err;
}

TEST(Run, LeavesTheProgramsOptionsAlone) {
    Finished job = expect_success(weft_run + "-n 2 echo -n 7 --bind info --prefix run");
    EXPECT_EQ(job.out, "7 --bind info --prefix run7 --bind info --prefix run");
}

TEST(Run, TakesWhatFollowsTwoDashesAsTheProgram) {
    Finished job =
        expect_success(weft_run + "-n 2 -- sh -c 'echo $WEFT_RANK -- of $WEFT_RANKS $0' -n --bind");
    EXPECT_EQ(sorted_lines(job.out), (Lines{"0 -- of 2 -n", "1 -- of 2 -n"}));
    EXPECT_EQ(run(weft_run + "-n 1 echo -- one").out, "-- one\n") << "not the first word";
    EXPECT_NE(run(weft_run + "-n 2 --").status, 0);
}

TEST(Run, GivesStandardInputToRankZeroOnly) {
    Finished job = run("echo words | " + weft_run + "-n 3 --prefix sh -c 'cat; echo end'");
    EXPECT_EQ(sorted_lines(job.out), (Lines{"[0] end", "[0] words", "[1] end", "[2] end"}));
}

TEST(Run, PrefixesEachLineOnItsOwnStream) {
    for (std::string flag : {"--prefix", "--label"}) {
        Finished job = expect_success(weft_run + "-n 2 " + flag +
                                      " sh -c 'echo one; printf \"\\ntwo\"; echo problem >&2'");
        EXPECT_EQ(sorted_lines(job.out),
                  (Lines{"[0] ", "[0] one", "[0] two", "[1] ", "[1] one", "[1] two"}));
        EXPECT_EQ(sorted_lines(job.err), (Lines{"[0] problem", "[1] problem"}));
    }
}

TEST(Run, PrefixLosesNoOutput) {
    Finished job = expect_success(weft_run + "-n 2 --prefix sh -c 'seq 1 20000'");
    EXPECT_EQ(sorted_lines(job.out).size(), 40000u);
    EXPECT_TRUE(contains(job.out, "[0] 20000\n"));
    EXPECT_TRUE(contains(job.out, "[1] 20000\n"));
}

TEST(Run, BindsRanksToTheCoresOfItsMask) {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &mask)) cores.push_back(core);
    }
    Finished job =
        run(weft_run + "-n 3 --bind core --prefix grep Cpus_allowed_list /proc/self/status");
    std::vector<std::string> expected;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        expected.push_back("[" + std::to_string(rank) + "] Cpus_allowed_list:\t" +
                           std::to_string(cores[rank % cores.size()]));
    }
    EXPECT_EQ(sorted_lines(job.out), expected) << job.err;
}

TEST(Run, RanksInheritNothingButTheirOwnSocket) {
    std::string list =
        "sh -c 'for f in /proc/$$/fd/*; do [ ${f##*/} -gt 2 ] && "
        "[ ${f##*/} != \"$WEFT_STARTUP_FD\" ] && readlink $f; done; exit 0'";
    Lines before = sorted_lines(run(list).out);
    for (const std::string& open : sorted_lines(run(weft_run + "-n 3 " + list).out)) {
        EXPECT_TRUE(std::find(before.begin(), before.end(), open) != before.end()) << open;
    }
}

// None of the launcher's own descriptors takes their places, where output would reach it.
TEST(Run, MayBeStartedWithoutStandardStreams) {
    const std::string closed = " 0<&- 1>&- 2>&-";
    Folder folder;
    const std::string list = "sh -c 'readlink /proc/$PPID/fd/[012] > " + (folder / "list") + "'";
    for (const std::string options : {"-n 1 ", "-n 1 --prefix "}) {
        EXPECT_EQ(run(weft_run + options + list + closed).status, 0);
        EXPECT_EQ(content(folder / "list"), "/dev/null\n/dev/null\n/dev/null\n");
    }
    EXPECT_EQ(run(weft_run +
                  "-n 4 --timeout 30 " WEFT_BUILD_DIR
                  "/tests/conformance/descriptors_program 2 before 7" +
                  closed)
                  .status,
              0);
    // Output is lost then, which is an error.
    EXPECT_EQ(run(WEFT_BUILD_DIR "/weft --version 1>&-").status, 1);
}

TEST(Run, ReportsAKilledRankAndEndsTheOthers) {
    Finished job = run(weft_run +
                       "-n 3 --grace 0.2 sh -c "
                       "'[ $WEFT_RANK = 2 ] && kill -KILL $$; exec sleep 1000'");
    EXPECT_EQ(job.status, 128 + SIGKILL);
    EXPECT_TRUE(contains(job.err, "weft run: rank 2 killed by signal 9 (SIGKILL)\n"));
    EXPECT_TRUE(contains(job.err, "2 still running"));
}

TEST(Run, LeavesTheOthersTimeToReport) {
    // Rank 0 goes on until the launcher has taken note of rank 1's end, then fails with 4.
    Folder folder;
    Finished job = run(weft_run + "-n 2 --grace 50 sh -c '[ $WEFT_RANK = 1 ] && { echo $$ > " +
                       (folder / "tmp") + "; mv " + (folder / "tmp") + " " + (folder / "pid") +
                       "; exit 3; }; while [ ! -e " + (folder / "pid") +
                       " ]; do sleep 0.01; done; while kill -0 $(cat " + (folder / "pid") +
                       ") 2> /dev/null; do sleep 0.01; done; echo my own words; exit 4'");
    EXPECT_EQ(job.status, 3) << "the first failure decides";
    EXPECT_EQ(job.out, "my own words\n");
    EXPECT_TRUE(contains(job.err, "rank 1 exited with status 3\n"));
    EXPECT_TRUE(contains(job.err, "rank 0 exited with status 4\n"));
}

TEST(Run, LetsTheOthersContinueAfterARankThatEndedWell) {
    Finished job = expect_success(weft_run +
                                  "-n 2 --grace 0 sh -c "
                                  "'[ $WEFT_RANK = 1 ] && exit 0; sleep 0.3; echo done'");
    EXPECT_EQ(job.out, "done\n");
    EXPECT_EQ(job.err, "");
}

TEST(Run, KillsRanksThatIgnoreSigterm) {
    Finished job = run(weft_run +
                       "-n 2 --grace 0 sh -c "
                       "'[ $WEFT_RANK = 1 ] && exit 7; trap \"\" TERM; while :; do sleep 1; done'");
    EXPECT_EQ(job.status, 7);
}

TEST(Run, LeavesNothingOfAFailedJob) {
    Folder folder;
    Finished job = run(weft_run + "-n 1 sh -c 'sleep 1000 > /dev/null 2>&1 & echo $! > " +
                       (folder / "pid") + "; exit 5'");
    EXPECT_EQ(job.status, 5);
    pid_t left_behind = pid_in(folder / "pid");
    ASSERT_GT(left_behind, 0);
    EXPECT_FALSE(is_alive(left_behind));
}

TEST(Run, EndsTheJobAtTheTimeout) {
    expect_refusal(weft_run + "-n 2 --timeout 0.3 sleep 1000", 124, "still runs after 0.3 s");
}

TEST(Run, SaysWhyAProgramCannotStart) {
    Finished missing = run(weft_run + "-n 2 /nowhere/program");
    EXPECT_EQ(missing.status, 127);
    EXPECT_EQ(missing.err, "weft run: cannot start /nowhere/program: No such file or directory\n");
    expect_refusal(weft_run + "-n 2 /etc/passwd", 126, "Permission denied");
}

TEST(Run, RefusesWrongOptions) {
    for (std::string wrong : {"", "-n 0 true", "-n two true", "--bind socket true",
                              "--grace -1 true", "--nonsense true"}) {
        Finished job = run(weft_run + wrong);
        EXPECT_NE(job.status, 0) << wrong;
        EXPECT_NE(job.err, "") << wrong;
    }
}

TEST(Run, RefusesSecondsThatAreNone) {
    for (std::string option : {"--timeout", "--grace"}) {
        for (std::string value : {"nan", "inf", "-1", "1e300", "1e10"}) {
            Finished job = run(weft_run + option + " " + value + " true");
            EXPECT_NE(job.status, 0) << option << ' ' << value;
            EXPECT_TRUE(contains(job.err, "'" + value + "'; expected seconds, ")) << job.err;
        }
    }
    EXPECT_NE(run(weft_run + "--timeout 0 true").status, 0);
    EXPECT_EQ(run(weft_run + "--timeout 1e9 --grace 0 true").status, 0);
}

TEST(Run, SaysThatOutputIsLost) {
    Finished job = run(weft_run + "-n 2 --prefix echo line > /dev/full");
    EXPECT_EQ(job.status, 1);
    EXPECT_EQ(job.err, "weft run: output is lost: No space left on device\n");
    EXPECT_EQ(run(weft_run + "-n 2 --prefix sh -c 'echo line; exit 3' > /dev/full").status, 3);
}

// A job whose two ranks have each made a file, so that they are known to have set their traps.
class RunSignals : public ::testing::Test {
  protected:
    void start(const std::string& trap) {
        for (const char* rank : {"0", "1"}) std::filesystem::remove(folder_ / rank);
        job_ = std::make_unique<ChildProcess>("exec " + weft_run + "-n 2 sh -c '" + trap +
                                              "; echo $$ > " + (folder_ / "$WEFT_RANK") +
                                              "; while :; do sleep 0.05; done'");
        ASSERT_TRUE(becomes_true([&] {
            return pid_in(folder_ / "0") > 0 && pid_in(folder_ / "1") > 0;
        })) << "the ranks do not start";
    }

    Folder folder_;
    std::unique_ptr<ChildProcess> job_;
};

TEST_F(RunSignals, ForwardsThemToTheRanks) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        std::string name = sigabbrev_np(signal);
        start("trap \"echo got " + name + "; exit 0\" " + name);
        kill(job_->pid(), signal);
        job_->finish();
        EXPECT_EQ(job_->status, 0) << job_->err;
        EXPECT_EQ(sorted_lines(job_->out), (Lines{"got " + name, "got " + name}));
    }
}

TEST_F(RunSignals, ReturnsTheStatusOfRanksThatDieOfThem) {
    start(":");
    kill(job_->pid(), SIGTERM);
    job_->finish();
    EXPECT_EQ(job_->status, 128 + SIGTERM);
    EXPECT_TRUE(contains(job_->err, "killed by signal 15 (SIGTERM)"));
}

TEST_F(RunSignals, RanksDoNotOutliveTheLauncher) {
    start(":");
    pid_t ranks[] = {pid_in(folder_ / "0"), pid_in(folder_ / "1")};
    kill(job_->pid(), SIGKILL);
    for (pid_t rank : ranks) {
        EXPECT_TRUE(becomes_true([&] {
            std::string stat = content("/proc/" + std::to_string(rank) + "/stat");
            return stat.empty() || stat.find(") Z ") != std::string::npos;
        })) << "process "
            << rank << " lives on";
    }
    job_->finish();
}

}  // namespace weft::test::run_test
