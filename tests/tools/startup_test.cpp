// How ranks join a job: this executable is both the test and, with --rank, the program of a rank.
#include <fcntl.h>
#include <sys/socket.h>

#include "startup/key_value.h"
#include "support/process.h"
#include "support/test.h"
#include "tests/tools/startup_rank.h"

#if defined(__SANITIZE_ADDRESS__)
// libpmix does not free all that it has allocated.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmix\n"; }
#endif

namespace weft::test::startup_test {

// --- Jobs
// -----------------------------------------------------------------------------------------

Finished job(int ranks, const std::string& behaviour, const std::string& options = "") {
    return run(WEFT_BUILD_DIR "/weft run -n " + std::to_string(ranks) + " " + options + " " +
               own_path + " --rank " + behaviour);
}

TEST(StartupJob, EveryRankGetsEveryCard) {
    for (int ranks : {1, 2, 3, 7, 16}) {
        expect_success(job(ranks, "exchange"));
    }
}

// The lines of a job's output, each once.
std::set<std::string> keys_of_a_job(int ranks) {
    const Finished done = expect_success(job(ranks, "key"));
    EXPECT_EQ(std::ranges::count(done.out, '\n'), ranks);
    std::istringstream lines(done.out);
    std::set<std::string> keys;
    for (std::string key; std::getline(lines, key);) keys.insert(key);
    return keys;
}

TEST(StartupJob, AllRanksHaveTheKeyOfTheirJobAlone) {
    std::set<std::string> all;
    for (int jobs = 0; jobs < 3; ++jobs) {
        std::set<std::string> keys = keys_of_a_job(4);
        EXPECT_EQ(keys.size(), 1u);
        all.merge(keys);
    }
    all.insert(hex(JobKey{}));
    EXPECT_EQ(all.size(), 4u);  // all different, and none of zeros
}

TEST(StartupJob, JoinsThroughAScript) {
    expect_success(WEFT_BUILD_DIR "/weft run -n 3 sh -c '" + own_path +
                   " --rank exchange; exit $?'");
}

TEST(StartupJob, ARankThatNeverJoinsIsNamed) {
    expect_refusal(job(3, "never"), 1, "rank 1 ended before it joined the job");
}

TEST(StartupJob, ARankThatDiesWhileJoiningIsNamed) {
    Finished done = job(3, "die", "--grace 30");
    EXPECT_TRUE(contains(done.err, "rank 1 killed by signal 9"));
    EXPECT_TRUE(contains(done.err, "rank 1 ended before it joined the job"));
}

TEST(StartupJob, OfSeveralThatEndedTheFirstIsNamed) {
    const Folder folder;
    const Finished done = job(3, "after:" + (folder / "pid"), "--grace 30");
    EXPECT_TRUE(contains(done.err, "rank 2 killed by signal 9"));
    EXPECT_TRUE(contains(done.err, "rank 2 ended before it joined the job"));
    EXPECT_EQ(done.err.find("rank 0 ended"), std::string::npos) << done.err;
}

TEST(StartupJob, ARankThatHasJoinedHasNotEnded) {
    const Folder folder;
    const Finished done = job(3, "joined:" + (folder / "pid"), "--grace 2");
    EXPECT_TRUE(contains(done.err, "rank 2 ended before all ranks had joined the job"));
}

// --- One process, with the test as its launcher
// ---------------------------------------------------

class StartupEnvironment : public ::testing::Test {
  protected:
    void SetUp() override { clear(); }
    void TearDown() override { clear(); }

    static void clear() {
        for (const char* name : {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD", "WEFT_STARTUP",
                                 "WEFT_STARTUP_DIR", "WEFT_STARTUP_TIMEOUT"}) {
            unsetenv(name);
        }
    }

    // As rank 0 of `ranks`; returns the launcher's end.
    static int join_as(const char* rank, const char* ranks) {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        setenv("WEFT_RANK", rank, 1);
        setenv("WEFT_RANKS", ranks, 1);
        setenv("WEFT_STARTUP_FD", std::to_string(ends[1]).c_str(), 1);
        return ends[0];
    }

    static void expect_refused(weft_status code, const char* sentence) {
        auto startup = startup_from_environment();
        ASSERT_FALSE(startup.is_ok());
        EXPECT_EQ(startup.status().code, code);
        EXPECT_TRUE(contains(last_detail(), sentence));
    }
};

TEST_F(StartupEnvironment, WithoutALauncherAProcessIsAJobOfItsOwn) {
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    EXPECT_EQ((*startup)->rank(), 0);
    EXPECT_EQ((*startup)->ranks(), 1);
    auto cards = (*startup)->exchange("mine");
    ASSERT_TRUE(cards.is_ok());
    EXPECT_EQ(*cards, std::vector<std::string>{"mine"});
}

// Launchers tell a rank its place, but not always how to find the others.
TEST_F(StartupEnvironment, AProcessOfSeveralThatCannotJoinSaysSo) {
    const std::string unset =
        "env -u RANK -u WORLD_SIZE -u OMPI_COMM_WORLD_RANK "
        "-u OMPI_COMM_WORLD_SIZE -u PMI_RANK -u PMI_SIZE -u SLURM_PROCID "
        "-u SLURM_NTASKS -u SLURM_STEP_NUM_TASKS -u MASTER_ADDR ";
    const auto said = [&](const std::string& variables) {
        const Finished done = expect_success(unset + variables + " " + own_path + " --rank alone");
        return done.err;
    };
    for (const char* one : {"", "WORLD_SIZE=1 RANK=0", "WORLD_SIZE= RANK=1", "RANK=1",
                            "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0", "PMI_SIZE=1",
                            "PMI_RANK=0 PMI_SIZE=1", "SLURM_NTASKS=1", "SLURM_PROCID=0",
                            "SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1"})
        EXPECT_EQ(said(one), "") << one;

    const std::vector<std::pair<std::string, std::string>> places = {
        {"RANK", "WORLD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (const auto& [rank, ranks] : places) {
        for (const char* number : {"0", "1"}) {
            const std::string sentence = said(ranks + "=2 " + rank + "=" + number);
            EXPECT_TRUE(contains(sentence, "weft: " + ranks + "=2, but Weft does not start by " +
                                               rank + " and " + ranks + " alone: rank " + number +
                                               " is a job of one rank"))
                << sentence;
            EXPECT_TRUE(contains(sentence, "WEFT_STARTUP=tcp://")) << sentence;
        }
        EXPECT_TRUE(contains(said(ranks + "=4"), "rank (not set) is a job of one rank")) << ranks;
    }
    for (const char* rank : {"OMPI_COMM_WORLD_RANK=1", "PMI_RANK=1"})
        EXPECT_TRUE(contains(said(rank), std::string("weft: ") + rank + ", but")) << rank;
    const std::string all = said("WORLD_SIZE=2 RANK=0 PMI_SIZE=2 PMI_RANK=0 SLURM_NTASKS=2");
    EXPECT_EQ(std::ranges::count(all, '\n'), 1) << "one sentence is enough: " << all;
    EXPECT_EQ(
        run("WORLD_SIZE=2 RANK=0 PMI_RANK=0 SLURM_NTASKS=2 " WEFT_BUILD_DIR "/weft run -n 2 " +
            own_path + " --rank exchange")
            .err,
        "")
        << "it can join";
}

TEST_F(StartupEnvironment, AProcessAloneHasAKeyOfItsOwn) {
    std::set<JobKey> keys{JobKey{}};
    for (int processes = 0; processes < 3; ++processes) {
        auto startup = startup_from_environment();
        ASSERT_TRUE(startup.is_ok());
        ASSERT_TRUE((*startup)->exchange("mine").is_ok());
        keys.insert((*startup)->key());
    }
    EXPECT_EQ(keys.size(), 4u);
}

TEST_F(StartupEnvironment, TheKeyIsTheLaunchers) {
    int launcher = join_as("0", "1");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    JobKey key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i * 7);
    struct {
        WireAnswer answer = WireAnswer::cards;
        JobKey key;
        WireSize card_bytes = 4;
        char card[4] = {'m', 'i', 'n', 'e'};
    } message{.key = key};
    static_assert(sizeof message == 44);
    ASSERT_EQ(write(launcher, &message, sizeof message), 44);
    auto cards = (*startup)->exchange("mine");
    ASSERT_TRUE(cards.is_ok()) << last_detail();
    EXPECT_EQ(*cards, std::vector<std::string>{"mine"});
    EXPECT_EQ((*startup)->key(), key);
    close(launcher);
}

TEST_F(StartupEnvironment, RefusesMalformedSettingsByName) {
    struct Case {
        const char* rank;
        const char* ranks;
        const char* sentence;
    };
    for (const Case& c : {Case{"x", "2", "WEFT_RANK = 'x'"}, Case{"2", "2", "WEFT_RANK = '2'"},
                          Case{"-1", "2", "WEFT_RANK = '-1'"}, Case{"1 ", "2", "WEFT_RANK = '1 '"},
                          Case{"", "2", "WEFT_RANK = ''"}, Case{"0", "0", "WEFT_RANKS = '0'"},
                          Case{"0", "99999999999", "WEFT_RANKS = '99999999999'"}}) {
        int launcher = join_as(c.rank, c.ranks);
        expect_refused(WEFT_REFUSED_SETTING, c.sentence);
        close(launcher);
    }
    int launcher = join_as("0", "2");
    setenv("WEFT_STARTUP_TIMEOUT", "soon", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_STARTUP_TIMEOUT = 'soon'");
    close(launcher);
}

TEST_F(StartupEnvironment, AJobOfOneRankBesideALargerWorldSizeSaysSo) {
    const std::string one = WEFT_BUILD_DIR "/weft run -n 1 " + own_path + " --rank alone";
    EXPECT_EQ(
        expect_success("WORLD_SIZE=4 RANK=2 " + one).err,
        "weft: WORLD_SIZE=4, but this process is a job of one rank: what counts is weft run\n");
    EXPECT_EQ(expect_success("WORLD_SIZE=1 RANK=0 " + one).err, "");
}

TEST_F(StartupEnvironment, RefusesHalfASetOfSettings) {
    setenv("WEFT_RANK", "0", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_RANKS is not set");
    setenv("WEFT_RANKS", "2", 1);
    expect_refused(WEFT_REFUSED_SETTING, "none of WEFT_STARTUP_FD and WEFT_STARTUP are");
    clear();
    setenv("WEFT_STARTUP_DIR", "/tmp/job", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_RANK is not set");
}

TEST_F(StartupEnvironment, RefusesTwoWaysAtOnce) {
    int launcher = join_as("0", "2");
    setenv("WEFT_STARTUP_DIR", "/tmp/job", 1);
    expect_refused(WEFT_REFUSED_SETTING, "both WEFT_STARTUP_FD and WEFT_STARTUP_DIR are set");
    setenv("WEFT_STARTUP", "/tmp/job", 1);
    expect_refused(WEFT_REFUSED_SETTING, "both WEFT_STARTUP_FD and WEFT_STARTUP are set");
    close(launcher);
}

TEST_F(StartupEnvironment, RefusesADirectoryThatDependsOnWhereTheProgramIs) {
    close(join_as("0", "2"));
    unsetenv("WEFT_STARTUP_FD");
    setenv("WEFT_STARTUP_DIR", "job", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_STARTUP_DIR = 'job'; expected an absolute path");
    setenv("WEFT_STARTUP", "job", 1);
    expect_refused(WEFT_REFUSED_SETTING,
                   "WEFT_STARTUP = 'job'; expected tcp://HOST:PORT or an absolute path");
}

TEST_F(StartupEnvironment, RefusesADescriptorThatIsNoSocket) {
    int launcher = join_as("0", "2");
    close(launcher);
    setenv("WEFT_STARTUP_FD", "999", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_STARTUP_FD = '999'");
    setenv("WEFT_STARTUP_FD", "0", 1);
    expect_refused(WEFT_REFUSED_SETTING, "WEFT_STARTUP_FD = '0'");
}

TEST_F(StartupEnvironment, KeepsItsSocketFromTheProgramsChildren) {
    int launcher = join_as("0", "1");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    EXPECT_EQ(fcntl(std::stoi(getenv("WEFT_STARTUP_FD")), F_GETFD), FD_CLOEXEC);
    close(launcher);
}

TEST_F(StartupEnvironment, SaysThatTheLauncherIsGone) {
    int launcher = join_as("0", "2");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    close(launcher);
    auto cards = (*startup)->exchange("mine");
    EXPECT_EQ(cards.status().code, WEFT_REFUSED_STATE);
    EXPECT_TRUE(contains(last_detail(), "the launcher (weft run) ended"));
}

TEST_F(StartupEnvironment, AsksTheLauncherWhoEndedFirst) {
    int launcher = join_as("0", "3");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    const WireAnswer answer = WireAnswer::rank_ended;
    const WireSize first = 2;
    for (weft_status code : {WEFT_BROKEN_RANK, WEFT_REFUSED_STATE}) {
        ASSERT_EQ(write(launcher, &answer, sizeof answer), 4);
        ASSERT_EQ(write(launcher, &first, sizeof first), 4);
        const Status cause =
            (*startup)->cause_of(failure_of_rank(code, 1, "rank 1 cannot be reached"));
        EXPECT_EQ(cause.code, code);
        EXPECT_EQ(cause.rank, 2);
        EXPECT_TRUE(contains(last_detail(), "rank 2 ended before all ranks had joined"));
    }
    close(launcher);
}

TEST_F(StartupEnvironment, ReportsWhatItSawWhenTheLauncherKnowsOfNoEnd) {
    int launcher = join_as("0", "3");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    const Status cause =
        (*startup)->cause_of(failure_of_rank(WEFT_BROKEN_RANK, 1, "rank 1 cannot be reached"));
    EXPECT_EQ(cause.code, WEFT_BROKEN_RANK);
    EXPECT_EQ(cause.rank, 1);
    EXPECT_STREQ(last_detail(), "rank 1 cannot be reached");
    close(launcher);
}

TEST_F(StartupEnvironment, DoesNotWaitForEver) {
    int launcher = join_as("0", "2");
    setenv("WEFT_STARTUP_TIMEOUT", "1", 1);
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    auto cards = (*startup)->exchange("mine");
    EXPECT_EQ(cards.status().code, WEFT_REFUSED_STATE);
    EXPECT_TRUE(contains(last_detail(), "after 1 s; WEFT_STARTUP_TIMEOUT"));
    close(launcher);
}

TEST_F(StartupEnvironment, DoesNotBelieveAForeignAnswer) {
    int launcher = join_as("0", "2");
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    ASSERT_EQ(write(launcher, "GET / HTTP/1.1", 14), 14);
    auto cards = (*startup)->exchange("mine");
    EXPECT_EQ(cards.status().code, WEFT_REFUSED_STATE);
    EXPECT_TRUE(contains(last_detail(), "is not weft run"));
    close(launcher);
}

}  // namespace weft::test::startup_test

int main(int argc, char** argv) { return weft::test::run_tests_or_rank(argc, argv); }
