// MPI programs that know nothing of Weft, with each MPI alone and with Weft's library before it. The same
// results are right in both cases: the programs know them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "algorithm/catalogue.h"
#include "dropin/preload.h"
#include "mpi/mpis.h"

namespace weft::test {
namespace {

const std::string sources = WEFT_SOURCE_DIR "/tests/dropin/";

// --- What an MPI gets wrong by itself --------------------------------------------------------------

struct KnownFailure {
    bool is_always;
    std::string section;
    std::string pattern;  // empty: the whole section
};

std::vector<KnownFailure> known_failures(const Mpi& mpi) {
    std::vector<KnownFailure> known;
    std::istringstream lines(content(sources + "known_failures.txt"));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream fields(line);
        std::string mpis, when, section, pattern;
        std::getline(fields, mpis, '|');
        std::getline(fields, when, '|');
        std::getline(fields, section, '|');
        std::getline(fields, pattern);
        if ((" " + mpis + " ").find(std::string(" ") + mpi.name + " ") == std::string::npos)
            continue;
        known.push_back({when == "always", section, pattern});
    }
    return known;
}

// --- Running the corpus ----------------------------------------------------------------------------

// Compiled once, and again after a change of its sources.
std::string corpus(const Mpi& mpi) {
    namespace fs = std::filesystem;
    const fs::path path = fs::path(WEFT_BUILD_DIR "/tests/dropin") / mpi.name / "corpus";
    bool is_new = fs::exists(path);
    for (const auto& file : fs::directory_iterator(sources)) {
        const std::string kind = file.path().extension();
        if (kind != ".c" && kind != ".h") continue;
        is_new = is_new && fs::last_write_time(file) < fs::last_write_time(path);
    }
    if (is_new) return path;
    fs::create_directories(path.parent_path());
    // Tests run side by side: each compiles its own, and the last one stays.
    const std::string own = path.string() + "." + std::to_string(getpid());
    const Finished done = run(
        mpi.around("mpicc -std=c99 -pedantic -Wall -Wextra -Werror -Wno-stringop-overread -O1 " +
                   sources + "*.c -o " + own));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    if (done.status == 0) fs::rename(own, path);
    return path;
}

using Words = std::vector<std::string>;

class DropIn : public testing::TestWithParam<std::tuple<Mpi, bool>> {
  protected:
    void SetUp() override {
        std::string absence = mpi().absence();
        if (absence.empty() && is_preloaded()) absence = preload_of(mpi().name).absence;
        if (!absence.empty()) GTEST_SKIP() << absence;
    }
    static const Mpi& mpi() { return std::get<0>(GetParam()); }
    static bool is_preloaded() { return std::get<1>(GetParam()); }

    static Finished started(int ranks, const Words& words, const std::string& settings) {
        std::string command = corpus(mpi());
        for (const std::string& word : words) command += " '" + word + "'";
        const std::string preload = is_preloaded() ? preload_of(mpi().name).settings + " " : "";
        // Open MPI polls, and with no more ranks than cores it would not yield to other tests.
        return run(
            mpi().job(ranks, command, "OMPI_MCA_mpi_yield_when_idle=1 " + preload + settings));
    }

    // Runs sections, without what the MPI is known to get wrong.
    static Finished expect_ok(int ranks, const Words& sections, const std::string& settings = "") {
        Words words;
        for (const std::string& word : sections) {
            bool is_known = false;
            for (const KnownFailure& known : known_failures(mpi()))
                is_known = is_known || (known.section == word && known.pattern.empty() &&
                                        (known.is_always || !is_preloaded()));
            if (!is_known) words.push_back(word);
        }
        for (const KnownFailure& known : known_failures(mpi())) {
            if (known.pattern.empty() || (is_preloaded() && !known.is_always)) continue;
            words.push_back("skip=" + known.pattern);
        }
        Finished done = started(ranks, words, settings);
        std::string said;
        for (const std::string& word : words) said += " '" + word + "'";
        EXPECT_EQ(done.status, 0) << ranks << " ranks:" << said << "\n" << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "ok ")) << said;
        return done;
    }
    static std::vector<int> usual(std::initializer_list<int> all, int one) {
        return runs_all() ? std::vector<int>(all) : std::vector<int>{one};
    }
};

std::string name_of(const testing::TestParamInfo<std::tuple<Mpi, bool>>& test) {
    return std::get<0>(test.param).name +
           std::string(std::get<1>(test.param) ? "_with_weft" : "_alone");
}

INSTANTIATE_TEST_SUITE_P(On, DropIn, testing::Combine(testing::ValuesIn(mpis()), testing::Bool()),
                         name_of);

// --- Everything it does ----------------------------------------------------------------------------

TEST_P(DropIn, NonblockingCollectives) {
    for (int ranks : usual({1, 2, 3, 4}, 3))
        expect_ok(ranks, {"nonblocking", "nonblocking_reductions"});
}

// An MPI without large counts runs them with small ones.
TEST_P(DropIn, PersistentCollectivesWithLargeCounts) {
    for (int ranks : usual({1, 2, 3, 4}, 2)) {
        expect_ok(ranks, {"large=1", "persistent", "persistent_reductions"});
    }
}

TEST_P(DropIn, NonblockingCollectivesWithLargeCounts) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    for (int ranks : {2, 4}) expect_ok(ranks, {"large=1", "nonblocking", "nonblocking_reductions"});
}

TEST_P(DropIn, BlockingCollectives) {
    if (!runs_all()) GTEST_SKIP() << "they are left to the MPI";
    for (const char* blocking : {"", "WEFT_BLOCKING=1"}) {
        expect_ok(3, {"blocking", "blocking_reductions"}, blocking);
        expect_ok(2, {"large=1", "blocking", "blocking_reductions"}, blocking);
    }
}

// The standard asks programs to keep arrays and operations; the library does not need them.
TEST_P(DropIn, ArgumentsAreForgottenAtOnce) {
    if (!is_preloaded()) GTEST_SKIP() << "an MPI alone may need them";
    expect_ok(3, {"forget=1", "nonblocking", "persistent", "nonblocking_reductions"});
}

TEST_P(DropIn, CompletionCalls) {
    for (int ranks : usual({1, 2, 4}, 2)) {
        expect_ok(ranks, {"mixed_requests", "empty_statuses", "status_without_completion",
                          "converted_handles"});
    }
}

TEST_P(DropIn, Communicators) {
    for (int ranks : usual({1, 2, 3, 4}, 3)) {
        expect_ok(ranks, {"duplicates", "parts", "topologies", "intercommunicators",
                          "many_communicators"});
    }
}

TEST_P(DropIn, ProgramsThatHaveGoneWrong) {
    for (int ranks : usual({2, 3, 4}, 3)) {
        expect_ok(ranks,
                  {"barrier_behind_message", "freed_before_wait", "idup_used_at_once",
                   "idup_beside_collectives", "file_beside_collectives", "bcast_of_unlike_types",
                   "user_operation_then_recv", "user_operations", "persistent_in_any_order"});
    }
}

TEST_P(DropIn, Errors) {
    expect_ok(2, {"invalid_arguments", "error_handlers"});
    if (is_preloaded()) expect_ok(2, {"misused_requests"});
}

TEST_P(DropIn, AllreduceInPlaceByEveryAlgorithm) {
    if (!is_preloaded()) {
        expect_ok(3, {"allreduce_in_place"});
        return;
    }
    for (const auto* algorithm : algorithm::find_family("allreduce")->algorithms) {
        if (!runs_all() && algorithm != algorithm::find_family("allreduce")->algorithms.front())
            break;
        expect_ok(4, {"allreduce_in_place"},
                  "WEFT_ALGORITHM_ALLREDUCE=" + std::string(algorithm->name));
    }
}

TEST_P(DropIn, RandomOperations) {
    if (!runs_all()) {
        expect_ok(3, {"count=1000", "random"});
        return;
    }
    for (int ranks : {2, 3, 4}) {
        for (const char* seed : {"seed=1", "seed=2", "seed=3"}) expect_ok(ranks, {seed, "random"});
    }
}

// What is listed as an MPI's own failure is one: a list that is too long would hide Weft's.
TEST_P(DropIn, KnownFailuresAreTheMpis) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    if (is_preloaded()) GTEST_SKIP() << "is about the MPI alone";
    for (const KnownFailure& known : known_failures(mpi())) {
        bool fails = false;
        for (int ranks : {4, 3, 2}) {
            Words words = {known.section};
            if (!known.pattern.empty()) words.push_back("pick=" + known.pattern);
            if (fails) continue;
            const Finished done = started(ranks, words, "CORPUS_SECONDS=15");
            EXPECT_FALSE(contains(done.err, "no section ")) << done.err;
            fails = done.status != 0;
        }
        EXPECT_TRUE(fails) << known.section << " " << known.pattern;
    }
}

}  // namespace
}  // namespace weft::test
