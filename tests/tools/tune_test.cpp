// `weft tune` as a user calls it, and what the library makes of its table.
#include <unistd.h>

#include "select/table.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::tune_test {

class Tune : public testing::Test {
  protected:
    void SetUp() override { std::filesystem::create_directory(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    Finished tune(const std::string& options, const std::string& settings = "") const {
        return run(settings + " " + program_ + " tune --bind none --repetitions 10 -o " + table() +
                   " " + options);
    }
    std::string table() const { return folder_ + "/table"; }
    std::string chosen(Collective collective, std::int64_t bytes,
                       std::optional<EngineKind> engine = std::nullopt) const {
        AlgorithmTable read;
        EXPECT_TRUE(read.add(content(table()), "table").is_ok()) << last_detail();
        const Choice* choice =
            read.choose({.collective = collective, .ranks = 2, .bytes = bytes}, engine);
        return choice ? choice->algorithm->name : "none";
    }

    // From a table just written: the line that says how, where and by which build.
    std::string circumstances() const {
        const std::string before = "\n# {";
        std::string text = content(table());
        text = text.substr(text.find(before) + before.size() - 1);
        return text.substr(0, text.find('\n'));
    }

    const std::string program_ = WEFT_BUILD_DIR "/weft";
    const std::string folder_ = testing::TempDir() + "weft_tune_" + std::to_string(getpid());
};

TEST_F(Tune, WritesATableOfEveryCollective) {
    const Finished done = tune("--sizes 8,1K");
    ASSERT_EQ(done.status, 0) << done.err;
    const auto measured = std::ranges::count_if(
        algorithm::catalogue(), [](const auto& spec) { return !spec.is_among_neighbors(); });
    EXPECT_TRUE(contains(done.out, "the fastest algorithms of " + std::to_string(measured) +
                                       " collectives for 2 ranks on 1 node"))
        << done.out;
    EXPECT_FALSE(std::filesystem::exists(table() + ".part"));
    for (const algorithm::CollectiveSpec& spec : algorithm::catalogue()) {
        const std::int64_t bytes = spec.agrees_on_sizes() ? 64 : -1;
        EXPECT_EQ(chosen(spec.collective, bytes) == "none", spec.is_among_neighbors()) << spec.name;
    }
    expect_success("WEFT_TUNING=" + table() + " " + program_ + " run -n 2 " + program_ + " info");
}

TEST_F(Tune, TriesEveryInnerAlgorithmAndAllRepetitionsIfAsked) {
    const std::string options = "--collective iallgather --sizes 8";
    ASSERT_EQ(tune(options + " --all-repetitions").status, 0);
    const std::string text = content(table());
    for (const algorithm::Algorithm* inner :
         algorithm::spec_of(Collective::allgather).flat_algorithms()) {
        for (const char* outer : {"hierarchical", "multi_leader"})
            EXPECT_TRUE(contains(text, std::string(" ") + outer + ":inner=" + inner->name + " "))
                << text;
    }
    EXPECT_TRUE(contains(text, "weft tune --all-repetitions")) << text;
}

// What a run that was ended has measured is not measured again, nor what it wrote halfway believed.
TEST_F(Tune, Resumes) {
    const std::string options = "--collective ibcast,igatherv --sizes 8,4K";
    ASSERT_EQ(tune(options).status, 0);
    const std::string circumstances = Tune::circumstances();
    std::ofstream(table() + ".part") << circumstances
                                     << "\nbcast 8 binomial 2 chain 1.99 knomial 9 .\n"
                                        "bcast 4096 chain 5 chain_rounds:segment=16K 1 .\n"
                                        "gatherv 8 sequential 0.000001 flat 0.0001 .\n"
                                        "gatherv 4096 sequential 0.000001 fl";
    const Finished resumed = tune(options);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_TRUE(contains(resumed.out, "Resumes: 3 of 4 measurements")) << resumed.out;
    EXPECT_EQ(chosen(Collective::bcast, 181), "binomial") << "as good as the fastest";
    EXPECT_EQ(chosen(Collective::bcast, 182), "chain_rounds");
    EXPECT_EQ(chosen(Collective::gatherv, -1), "sequential");

    const auto resumes = [&](const std::string& measured_in, const std::string& settings) {
        std::ofstream(table() + ".part") << measured_in << "\nbcast 8 chain 1 .\n";
        const Finished done = expect_success(tune("--collective ibcast --sizes 8", settings));
        return contains(done.out, "Resumes");
    };
    EXPECT_TRUE(resumes(circumstances, ""));
    EXPECT_FALSE(resumes("other circumstances", ""));
    EXPECT_FALSE(resumes(circumstances, "WEFT_REPRODUCIBLE=1"));
    EXPECT_FALSE(resumes(circumstances, "WEFT_ENGINE=thread"));
    for (const auto& file : std::filesystem::directory_iterator(folder_))
        EXPECT_EQ(file.path(), table()) << "nothing is left beside it";
}

TEST_F(Tune, ChoosesOnlyForTheEngineAndTheReductionsThatItMeasured) {
    const auto has_lines = [&](Collective collective, EngineKind engine, bool reproducible) {
        AlgorithmTable read;
        EXPECT_TRUE(read.add(content(table()), "table").is_ok()) << last_detail();
        return read.choose({.collective = collective,
                            .ranks = 2,
                            .bytes = 8,
                            .commutative = !reproducible,
                            .reproducible = reproducible},
                           engine) != nullptr;
    };
    const std::string options = "--collective iallreduce,ibcast --sizes 8";
    const Finished done = tune(options, "WEFT_REPRODUCIBLE=1 WEFT_ENGINE=thread");
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(has_lines(Collective::bcast, EngineKind::thread, false));
    EXPECT_TRUE(has_lines(Collective::allreduce, EngineKind::thread, true));
    EXPECT_FALSE(has_lines(Collective::allreduce, EngineKind::thread, false));
    EXPECT_FALSE(has_lines(Collective::bcast, EngineKind::manual, false));
    ASSERT_EQ(tune(options).status, 0);
    EXPECT_TRUE(has_lines(Collective::bcast, EngineKind::manual, false));
    EXPECT_TRUE(has_lines(Collective::allreduce, EngineKind::thread, false));
}

// One table for all engines: the library takes the lines of the one that it has joined with.
TEST_F(Tune, OverlappedChoosesForEachEngine) {
    const std::string options = "--overlapped --engine manual,thread --collective ibcast --sizes 8";
    const Finished done = tune(options, "WEFT_STATS=1");
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(contains(done.err, "operations, engine thread")) << "the last\n" << done.err;
    EXPECT_TRUE(contains(content(table()), "start, a computation as long as")) << content(table());
    EXPECT_NE(chosen(Collective::bcast, 8, EngineKind::manual), "none");
    EXPECT_NE(chosen(Collective::bcast, 8, EngineKind::thread), "none");
    EXPECT_EQ(chosen(Collective::bcast, 8, EngineKind::automatic), "none");

    std::ofstream(table() + ".part") << circumstances()
                                     << "\nbcast/manual 8 binomial 1 chain 2 .\n"
                                        "bcast/thread 8 binomial 2 chain 1 .\n";
    const Finished resumed = tune(options, "WEFT_STATS=1");
    EXPECT_TRUE(contains(resumed.out, "Resumes: 2 of 2 measurements")) << resumed.out;
    EXPECT_EQ(chosen(Collective::bcast, 8, EngineKind::manual), "binomial");
    EXPECT_EQ(chosen(Collective::bcast, 8, EngineKind::thread), "chain");
    for (const auto& [engine, algorithm] :
         {std::pair("manual", "binomial"), std::pair("thread", "chain")}) {
        const Finished library = run("WEFT_TUNING=" + table() + " WEFT_ENGINE=" + engine + " " +
                                     program_ + " schedule bcast --ranks 2 --bytes 8");
        EXPECT_TRUE(contains(library.err, std::string("bcast by ") + algorithm)) << library.err;
    }
}

// (The job's own communicators have none: a few.)
TEST_F(Tune, OverlappedGivesCandidatesDedicatedConnections) {
    const Finished done = tune(
        "--overlapped --engine kernel --all-repetitions --transport tcp --collective ibcast "
        "--sizes 64K",
        "WEFT_STATS=1");
    if (contains(done.err + done.out, "engine kernel is not available"))
        GTEST_SKIP() << done.err << done.out;
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(matches_in(done.err, "[0-9]{2,} on streams without dedicated connections").empty())
        << done.err;
}

TEST_F(Tune, OverlappedMeasuresTheEnginesThatMatter) {
    const auto has = [&](const char* engine) {
        return contains(content(table()), std::string("engine=") + engine + " ");
    };
    const std::string options = "--overlapped --collective ibarrier";
    const Finished all = tune(options);
    ASSERT_EQ(all.status, 0) << all.err;
    EXPECT_TRUE(has("manual") && has("thread") && has("auto")) << content(table());
    EXPECT_NE(has("kernel"), contains(all.out, "Not measured: engine kernel")) << all.out;
    ASSERT_EQ(tune(options, "WEFT_ENGINE=thread").status, 0);
    EXPECT_TRUE(has("thread") && !has("manual") && !has("auto")) << content(table());
}

TEST_F(Tune, RefusesWithASentence) {
    EXPECT_EQ(tune("--sizes x").status, 2);
    expect_failure(tune("--overlapped --engine fast"), "engine = \"fast\"; expected one of manual");
    expect_failure(tune("--engine thread"), "requires --overlapped");
    EXPECT_TRUE(
        contains(tune("--collective bcast").err, "collective = \"bcast\"; expected one of"));
    expect_failure(program_ + " tune --collective ibarrier -o " + folder_ + "/no/table",
                   "No such file or directory; expected a file that can be written");
}

TEST_F(Tune, TablesThatDifferAreRefusedByRank) {
    std::ofstream(folder_ + "/0") << "bcast binomial\n";
    std::ofstream(folder_ + "/1") << "bcast chain\n";
    expect_failure(program_ + " run -n 2 -- sh -c 'WEFT_TUNING=" + folder_ + "/$WEFT_RANK exec " +
                       program_ + " info'",
                   "rank 1 has WEFT_TUNING='a table with hash ");
}

// The ranks choose by the parameters, each for itself.
TEST_F(Tune, ParametersOfTheModelThatDifferAreRefusedByRank) {
    const auto write = [&](const std::string& name, const std::string& latency) {
        std::ofstream(folder_ + "/" + name)
            << "{\"messages\": \"small\", \"bytes_max\": 1024, \"L_ns\": " << latency
            << ", \"o_s_ns\": 1000, \"o_r_ns\": 1000, \"G_ns_per_byte\": 1, \"O_ns_per_byte\": "
               "0}\n";
    };
    write("0", "10000");
    write("1", "10000");
    const auto start = [&](const std::string& settings) {
        return run(program_ + " run --timeout 30 -n 2 -- sh -c '" + settings +
                   " WEFT_MODEL=" + folder_ + "/$WEFT_RANK exec " + program_ + " info'");
    };
    EXPECT_EQ(start("WEFT_SELECT=model").status, 0);
    write("1", "10001");
    EXPECT_EQ(start("").status, 0) << "nobody uses them";
    const Finished content_differs = start("WEFT_SELECT=model");
    EXPECT_NE(content_differs.status, 0);
    EXPECT_FALSE(matches_in(content_differs.err,
                            "rank 1 has WEFT_MODEL='parameters with hash [0-9a-f]{16}', "
                            "rank 0 has 'parameters with hash [0-9a-f]{16}'")
                     .empty())
        << content_differs.err;
    expect_failure(
        start("test $WEFT_RANK = 1 && export WEFT_SELECT=table; WEFT_SELECT=${WEFT_SELECT:-model}"),
        "rank 1 has WEFT_SELECT='table'");
}

TEST_F(Tune, ATableThatOneRankCannotReadIsRefusedOnAllByRank) {
    std::ofstream(folder_ + "/0") << "bcast chain\n";
    std::ofstream(folder_ + "/1") << "bcast chain\nbcast ranks=2 chian\n";
    const std::string expected = "rank 1: WEFT_TUNING=" + folder_ + "/1, line 2: \"chian\"";
    for (const std::string odd : {"0", "1"}) {
        // The other rank says nothing, so that the sentence is this one's.
        expect_failure(program_ + " run --timeout 30 -n 2 -- sh -c 'test $WEFT_RANK = " + odd +
                           " || exec 2>/dev/null; WEFT_TUNING=" + folder_ + "/$WEFT_RANK exec " +
                           program_ + " info'",
                       expected);
    }
}

}  // namespace weft::test::tune_test
