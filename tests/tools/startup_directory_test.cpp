// How the ranks of any launcher join a job through a directory: this executable is both the test and,
// with --rank, the program of a rank.
#include <sys/resource.h>
#include <sys/stat.h>

#include "support/process.h"
#include "support/test.h"
#include "tests/tools/startup_rank.h"

namespace weft::test::startup_directory_test {

// A rank that a test starts by hand.
struct By {
    int rank = 0;
    int ranks = 4;
    std::string timeout_s = "60";
    std::string behaviour = "exchange";
};

using Started = std::unique_ptr<ChildProcess>;

class StartupDirectory : public ::testing::Test {
  protected:
    Started start(const By& by) const {
        return std::make_unique<ChildProcess>("umask 0; WEFT_RANK=" + std::to_string(by.rank) +
                                              " WEFT_RANKS=" + std::to_string(by.ranks) +
                                              " WEFT_STARTUP_DIR=" + path_ +
                                              " WEFT_STARTUP_TIMEOUT=" + by.timeout_s + " exec " +
                                              own_path + " --rank " + by.behaviour);
    }

    std::vector<Started> start_all(int ranks, const std::string& behaviour) const {
        std::vector<Started> all;
        // The first comes last: whoever comes first makes the directory.
        for (int rank = ranks - 1; rank >= 0; --rank) {
            all.push_back(start({.rank = rank, .ranks = ranks, .behaviour = behaviour}));
        }
        return all;
    }

    static void expect_joined(ChildProcess& rank) {
        rank.finish();
        EXPECT_EQ(rank.status, 0) << rank.err;
    }

    static void expect_refused(ChildProcess& rank, const std::string& sentence) {
        rank.finish();
        EXPECT_EQ(rank.status, 1);
        EXPECT_TRUE(contains(rank.err, sentence));
    }

    static void kill_now(ChildProcess& rank) {
        kill(rank.pid(), SIGKILL);
        rank.finish();
    }

    void wait_for(const std::string& file) const {
        ASSERT_TRUE(becomes_true([&] { return !content(path_ + "/" + file).empty(); })) << file;
    }

    unsigned mode(const std::string& file) const {
        struct stat about {};
        EXPECT_EQ(stat((path_ + file).c_str(), &about), 0) << file;
        return about.st_mode & 07777u;
    }

    bool is_gone() const { return !std::filesystem::exists(path_); }

    std::string missing(int rank, const std::string& timeout_s) const {
        return "rank " + std::to_string(rank) + " had not joined in WEFT_STARTUP_DIR = '" + path_ +
               "' after " + timeout_s + " s; WEFT_STARTUP_TIMEOUT sets how long to wait\n";
    }

    std::string used(int rank) const {
        return "rank " + std::to_string(rank) + " has already joined in WEFT_STARTUP_DIR = '" +
               path_ +
               "': the directory belongs to another job, or another process has this number\n";
    }

    Folder folder_;
    std::string path_ = folder_ / "job";
};

TEST_F(StartupDirectory, EveryRankGetsEveryCardAndNothingStays) {
    for (int ranks : {1, 2, 4, 9}) {
        for (const Started& rank : start_all(ranks, "exchange")) expect_joined(*rank);
        EXPECT_TRUE(is_gone()) << ranks << " ranks";
    }
}

TEST_F(StartupDirectory, AllRanksHaveTheKeyOfTheirJobAlone) {
    std::set<std::string> all{hex(JobKey{}) + "\n"};
    for (int jobs = 0; jobs < 3; ++jobs) {
        std::set<std::string> keys;
        for (const Started& rank : start_all(4, "key")) {
            expect_joined(*rank);
            keys.insert(rank->out);
        }
        EXPECT_EQ(keys.size(), 1u);
        all.merge(keys);
    }
    EXPECT_EQ(all.size(), 4u);  // all different, and none of zeros
}

TEST_F(StartupDirectory, IsForTheUserAlone) {
    Started one = start({.rank = 1, .ranks = 3});
    ASSERT_TRUE(becomes_true([&] { return !is_gone(); }));
    EXPECT_EQ(mode(""), 0700u);
    Started zero = start({.rank = 0, .ranks = 3});
    wait_for("rank-1");
    EXPECT_EQ(mode("/job"), 0600u);
    EXPECT_EQ(mode("/rank-1"), 0600u);
    Started two = start({.rank = 2, .ranks = 3});
    for (const Started* rank : {&zero, &one, &two}) expect_joined(**rank);
}

TEST_F(StartupDirectory, LeavesWhatIsNotItsOwn) {
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    std::ofstream(path_ + "/notes") << "mine\n";
    for (const Started& rank : start_all(3, "exchange")) expect_joined(*rank);
    EXPECT_EQ(content(path_ + "/notes"), "mine\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_), {}), 1);
}

// --- Who is missing ------------------------------------------------------------------------------

TEST_F(StartupDirectory, EveryRankNamesTheOneThatIsMissing) {
    std::vector<Started> ranks;
    for (int rank : {0, 1, 3}) ranks.push_back(start({.rank = rank, .timeout_s = "2"}));
    for (const Started& rank : ranks) expect_refused(*rank, missing(2, "2"));
}

TEST_F(StartupDirectory, NamesRankZeroWhenItIsMissing) {
    expect_refused(*start({.rank = 2, .timeout_s = "0.2"}), missing(0, "0.2"));
}

// --- Whom not to believe -------------------------------------------------------------------------

TEST_F(StartupDirectory, RefusesWhatAnEarlierJobHasLeft) {
    {
        Started zero = start({.rank = 0});
        Started one = start({.rank = 1});
        wait_for("rank-1");
        kill_now(*zero);
        kill_now(*one);
    }
    expect_refused(*start({.rank = 0}), used(0));
    expect_refused(*start({.rank = 1}), used(1));
    // It finds a job, but nobody in it is alive.
    expect_refused(*start({.rank = 2, .timeout_s = "0.2"}), missing(3, "0.2"));
}

// Rank 1 of three ends when it has given its card: the others name it, and another job does not
// believe what is left.
TEST_F(StartupDirectory, NamesARankThatEndsWhileItJoinsAndBelievesNoneOfItsCards) {
    Started zero = start({.rank = 0, .ranks = 3, .timeout_s = "3"});
    Started one = start({.rank = 1, .ranks = 3});
    wait_for("rank-1");
    kill_now(*one);
    Started two = start({.rank = 2, .ranks = 3, .timeout_s = "3"});
    expect_refused(*zero, missing(1, "3"));
    expect_refused(*two, missing(1, "3"));
    ASSERT_NE(content(path_ + "/cards"), "");
    expect_refused(*start({.rank = 2, .ranks = 3}),
                   path_ +
                       "/cards belongs to another job; every job needs its own, empty "
                       "WEFT_STARTUP_DIR\n");
    std::filesystem::remove(path_ + "/job");
    std::filesystem::remove(path_ + "/cards");
    expect_refused(*start({.rank = 0, .ranks = 3}), path_ + "/rank-1 belongs to another job");
}

TEST_F(StartupDirectory, RefusesASecondRankOfTheSameNumber) {
    Started zero = start({.rank = 0, .ranks = 3});
    Started one = start({.rank = 1, .ranks = 3});
    wait_for("rank-1");
    expect_refused(*start({.rank = 1, .ranks = 3}), used(1));
    expect_refused(*start({.rank = 0, .ranks = 3}), used(0));
    Started two = start({.rank = 2, .ranks = 3});
    for (const Started* rank : {&zero, &one, &two}) expect_joined(**rank);
}

TEST_F(StartupDirectory, RefusesAnotherNumberOfRanks) {
    Started zero = start({.rank = 0, .ranks = 2, .timeout_s = "1"});
    expect_refused(*start({.rank = 1, .ranks = 3}), "rank 0 has another WEFT_RANKS than 3");
    expect_refused(*zero, missing(1, "1"));
}

TEST_F(StartupDirectory, RefusesADirectoryThatOthersMayWrite) {
    for (const mode_t open_to : {0777, 01777, 0720, 0702}) {
        ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
        ASSERT_EQ(chmod(path_.c_str(), open_to), 0);
        char sentence[64];
        std::snprintf(sentence, sizeof sentence, " has mode %04o: others may write it",
                      unsigned{open_to});
        for (int rank : {0, 1}) expect_refused(*start({.rank = rank}), path_ + sentence);
        ASSERT_TRUE(std::filesystem::remove(path_)) << "something was left in it";
    }
}

TEST_F(StartupDirectory, RefusesAFileThatOthersMayWrite) {
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    std::ofstream(path_ + "/job") << std::string(56, 'x');
    ASSERT_EQ(chmod((path_ + "/job").c_str(), 0666), 0);
    expect_refused(*start({.rank = 1}), path_ + "/job has mode 0666: others may write it");
}

TEST_F(StartupDirectory, RefusesWhatBelongsToAnotherUser) {
    std::string sentence = "/usr belongs to user 0; expected this user, ";
    if (geteuid() == 0) {
        ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
        ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
        sentence = path_ + " belongs to user 65534; expected this user, 0";
    } else {
        path_ = "/usr";
    }
    for (int rank : {0, 1}) expect_refused(*start({.rank = rank}), sentence);
}

// (The limit's signal would end the rank.)
TEST_F(StartupDirectory, SaysThatItCannotBeWrittenUnderALimit) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    const Started zero = start({.rank = 0});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_refused(*zero, "cannot write " + path_ + "/job.unfinished: File too large");
}

TEST_F(StartupDirectory, RefusesWhatIsNoDirectory) {
    std::ofstream(path_) << "a file\n";
    const std::string directory = "WEFT_STARTUP_DIR = '" + path_;
    expect_refused(*start({.rank = 0}), "cannot open " + directory + "': Not a directory");
    path_ += "/below";
    expect_refused(*start({.rank = 1}), "cannot make " + directory + "/below': Not a directory");
}

}  // namespace weft::test::startup_directory_test

int main(int argc, char** argv) { return weft::test::run_tests_or_rank(argc, argv); }
