// Random programs give what they must: on simulated ranks, on ranks that are threads, and on
// processes. A failure is made small, and printed with the line that repeats it.
#include "support/random/jobs.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::random::random_test {

constexpr int operations_of_a_program = 120;

// How many operations the programs of one test start together: few, or many in a run of all tests.
int operations(int few, int many) { return runs_all() ? many : few; }

void expect_good(const Case& c) {
    const Outcome outcome = run_case(c);
    if (outcome.is_good()) return;
    std::fprintf(stderr, "%s\n", report(c, outcome).c_str());
    const Case smaller = shrink(c);
    const Outcome again = run_case(smaller);
    ADD_FAILURE() << (again.is_good() ? "the smaller program fails only now and then\n" : "")
                  << report(smaller, again.is_good() ? outcome : again);
}

void run_programs(const char* transport, int ranks, int total) {
    if (std::getenv("WEFT_CASE")) GTEST_SKIP() << "another case is asked for";
    for (const Surroundings& where : surroundings()) {
        if (where.name == std::string(transport) && !where.absence().empty()) {
            GTEST_SKIP() << where.absence();
        }
    }
    const char* seeds = std::getenv("WEFT_SEEDS");
    const std::uint64_t programs = seeds ? std::strtoull(seeds, nullptr, 10) : ~std::uint64_t{0};
    int started = 0;
    std::uint64_t seed = 0;
    while (seeds ? seed < programs : started < total) {
        Case c;
        c.transport = transport;
        c.ranks = ranks;
        c.seed = ++seed;
        c.operations = operations_of_a_program;
        // (Where all messages are small, a process may have nothing pending that wakes its thread.)
        if (c.has_groups() && seed % 2 == 0) c.bytes_max = 64;
        expect_good(c);
        if (testing::Test::HasFailure()) return;
        started += operations_of(generate(c));
    }
    testing::Test::RecordProperty("operations", started);
    std::printf("%s, %d ranks: %d operations in %llu programs\n", transport, ranks, started,
                static_cast<unsigned long long>(seed));
}

class Random : public testing::TestWithParam<int> {
    void SetUp() override {
        if (!is_its_turn(4)) GTEST_SKIP() << not_its_turn;
    }
};
INSTANTIATE_TEST_SUITE_P(Ranks, Random, testing::Values(2, 3, 4, 7));

TEST_P(Random, OnSimulatedRanks) { run_programs("sim", GetParam(), operations(5'000, 50'000)); }
// Eight programs at a time.
TEST_P(Random, InFibersOfSimulatedRanks) {
    run_programs("sim_fibers", GetParam(), operations(500, 5'000));
}
TEST_P(Random, OnThreads) { run_programs("threads", GetParam(), operations(500, 20'000)); }
TEST_P(Random, OnProcesses) { run_programs("shm", GetParam(), operations(1'000, 20'000)); }
TEST_P(Random, OnThreadsOverMpi) {
    run_programs("threads_mpi", GetParam(), operations(250, 20'000));
}
#if WEFT_HAS_TCP
TEST_P(Random, OnThreadsOverTcp) {
    run_programs("threads_tcp", GetParam(), operations(250, 20'000));
}
TEST_P(Random, OnThreadsOverBoth) {
    run_programs("threads_mixed", GetParam(), operations(250, 20'000));
}
TEST_P(Random, OnProcessesOverTcp) { run_programs("tcp", GetParam(), operations(500, 20'000)); }
TEST_P(Random, OnProcessesOverIpv6) {
    run_programs("tcp_ipv6", GetParam(), operations(100, 5'000));
}
TEST_P(Random, OnProcessesOverBoth) { run_programs("mixed", GetParam(), operations(250, 20'000)); }
#endif

#if WEFT_HAS_UCX
TEST_P(Random, OnThreadsOverUcx) {
    if (const std::string absence = ucx_absence("tcp"); !absence.empty()) GTEST_SKIP() << absence;
    run_programs("threads_ucx", GetParam(), operations(100, 20'000));
}
TEST_P(Random, OnProcessesOverUcx) { run_programs("ucx_tcp", GetParam(), operations(100, 5'000)); }
TEST_P(Random, OnProcessesOverUcxBetweenNodes) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    run_programs("ucx_nodes", GetParam(), operations(0, 5'000));
}
TEST_P(Random, OnProcessesOverUcxInSharedMemory) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    run_programs("ucx_posix", GetParam(), operations(0, 5'000));
}
TEST_P(Random, OnProcessesOverAllThatUcxHas) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    run_programs("ucx_all", GetParam(), operations(0, 5'000));
}
#endif

// Processes that are jobs of their own, or of a few, and make groups that overlap, in any order.
class RandomOverGroups : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Processes, RandomOverGroups, testing::Values(3, 4, 5));

TEST_P(RandomOverGroups, OfSeveralJobs) {
    run_programs("groups_shm", GetParam(), operations(360, 10'000));
}

// A process that had left small receives to its program waited, in the exchange of a group, for one
// whose sends those were for.
TEST(RandomOverGroupsCase, DoesNotHangWhereEverySendWaitsForItsReceive) {
    expect_success("WEFT_TRANSPORT=shm WEFT_ENGINE=thread WEFT_RENDEZVOUS=0 " WEFT_BUILD_DIR
                   "/tests/conformance/random_groups_program "
                   "'groups_shm p=5 seed=0x230 operations=60 bytes_max=64' 25");
}

#if WEFT_HAS_TCP
TEST_P(RandomOverGroups, OfSeveralJobsOverTcp) {
    run_programs("groups_tcp", GetParam(), operations(240, 10'000));
}
#endif

// ./dev test Random --case "sim p=3 seed=0x2a ..."
TEST(RandomCase, IsRepeated) {
    const char* text = std::getenv("WEFT_CASE");
    Case c;
    if (!text || !Case::parse(text, c)) GTEST_SKIP() << "no case is asked for";
    const Outcome outcome = run_case(c);
    EXPECT_TRUE(outcome.is_good()) << report(c, outcome);
}

TEST(RandomProgram, HasTheSameHistoryOnSimulatedRanksEveryTime) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Case c;
        c.ranks = 3;
        c.seed = seed;
        const Outcome first = run_case(c);
        const Outcome second = run_case(c);
        ASSERT_TRUE(first.is_good()) << report(c, first);
        EXPECT_EQ(first.history, second.history) << c.text();
    }
}

TEST(RandomProgram, IsTheSameAfterItsCaseWasPrinted) {
    Case c;
    c.transport = "threads";
    c.seed = 0x123456789abcdef0;
    c.bytes_max = 77;
    for (const std::vector<int>& keep : {std::vector<int>{}, {5}, {0, 1, 2, 7, 9, 10}}) {
        c.keep = keep;
        c.keeps_all = false;
        Case parsed;
        ASSERT_TRUE(Case::parse(c.text(), parsed)) << c.text();
        EXPECT_EQ(parsed.text(), c.text());
        EXPECT_EQ(parsed.keep, keep);
    }
}

// A mistake that is put in on purpose is found soon, and the program that shows it made small.
struct Planted {
    const char* transport;
    Plant plant;
    const char* said;       // a part of the failure's sentence
    std::size_t steps_max;  // of the smallest program
};

std::string name_of(const testing::TestParamInfo<Planted>& test) {
    const Plant plant = test.param.plant;
    return std::string(test.param.transport) + (plant == Plant::corrupted ? "_corrupted"
                                                : plant == Plant::lost    ? "_lost"
                                                                          : "_operation");
}

class RandomMistake : public testing::TestWithParam<Planted> {};
INSTANTIATE_TEST_SUITE_P(Planted, RandomMistake,
                         testing::Values(Planted{"sim", Plant::corrupted, " is wrong", 4},
                                         Planted{"sim", Plant::lost, "nothing moves any more", 4},
                                         Planted{"sim", Plant::operation, "is wrong", 4},
                                         Planted{"sim_fibers", Plant::corrupted, " is wrong", 4},
                                         Planted{"threads", Plant::operation, "is wrong", 4},
                                         Planted{"shm", Plant::operation, "is wrong", 4}),
                         name_of);

TEST_P(RandomMistake, IsFoundAndMadeSmall) {
    Case c;
    c.transport = GetParam().transport;
    c.ranks = 3;

    Outcome outcome;
    while (outcome.is_good() && c.seed < 20) {
        ++c.seed;
        outcome = run_case(c, GetParam().plant);
    }
    ASSERT_FALSE(outcome.is_good());
    const Case smaller = shrink(c, GetParam().plant);
    const Outcome again = run_case(smaller, GetParam().plant);
    const std::string text = report(smaller, again);
    EXPECT_NE(again.failure.find(GetParam().said), std::string::npos) << text;
    EXPECT_LE(generate(smaller).size(), GetParam().steps_max) << text;
    if (GetParam().plant == Plant::operation) {
        EXPECT_EQ(operations_of(generate(smaller)), 1) << text;
    }
    // Without the mistake there is nothing to find.
    EXPECT_TRUE(run_case(smaller).is_good());
}

}  // namespace weft::test::random::random_test
