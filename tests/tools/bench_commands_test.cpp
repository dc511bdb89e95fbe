// What `weft bench` promises, tried from outside. No test looks at a measured time: that the
// program ends with 0 says that every result was right.
#include <gtest/gtest.h>

#include "tests/tools/process.h"

namespace weft::test {
namespace {

const std::string bench = WEFT_BUILD_DIR "/weft bench ";

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
        ++found;
    }
    return found;
}

TEST(BenchOverlap, PrintsATableAndASentence) {
    const Finished job = run(bench +
                             "overlap --collective ibcast --engine manual,thread "
                             "--sizes 8,64K --repetitions 3");
    EXPECT_EQ(job.status, 0) << job.err;
    EXPECT_TRUE(contains(job.out, "\nibcast\nsize  "));
    EXPECT_EQ(count(job.out, "\n64K "), 2u) << job.out;
    EXPECT_TRUE(contains(job.out, "Without any call during the computation, manual hides "));
    EXPECT_TRUE(contains(job.out, "of one ibcast of 64 KiB behind it"));
    EXPECT_EQ(job.err, "");
}

TEST(BenchOverlap, MeasuresEveryCollectiveAtOddSizesWithTests) {
    const Finished job = run(bench +
                             "overlap --ranks 3 --bind none --engine manual,thread "
                             "--sizes 1,7,4097 --repetitions 2 --tests 3");
    EXPECT_EQ(job.status, 0) << job.err;
    for (const char* name : {"\nibarrier\n", "\nibcast\n", "\niallgather\n", "\niallreduce\n"}) {
        EXPECT_TRUE(contains(job.out, name));
    }
    EXPECT_TRUE(contains(job.out, "With 3 calls of weft_test during the computation"));
}

TEST(BenchOverlap, MeasuresTheSpinningThread) {
    const Finished job = run(bench + "overlap --engine thread:poll --sizes 8 --repetitions 1");
    EXPECT_EQ(job.status, 0) << job.err;
    EXPECT_TRUE(contains(job.out, "thread:poll"));
}

TEST(BenchOverlap, MeasuresOneRankAlone) {
    const Finished job = run(bench + "overlap --ranks 1 --sizes 8:512 --repetitions 1");
    EXPECT_EQ(job.status, 0) << job.err;
}

TEST(BenchOverlap, WritesOneLineOfJsonPerRow) {
    const Folder folder;
    const Finished job = run(bench +
                             "overlap --collective ibarrier,iallreduce --engine "
                             "manual,thread --sizes 8,512 --repetitions 3 --json " +
                             (folder / "rows"));
    EXPECT_EQ(job.status, 0) << job.err;
    const Lines rows = sorted_lines(content(folder / "rows"));
    ASSERT_EQ(rows.size(), 6u);  // a barrier and two sizes, with two engines each
    for (const std::string& row : rows) {
        EXPECT_TRUE(row.starts_with("{\"bench\": \"overlap\", ") && row.ends_with("]}}")) << row;
        EXPECT_TRUE(contains(row, "\"ranks\": 2, "));
        EXPECT_TRUE(contains(row, "\"repetitions\": 3, "));
        const std::size_t samples = row.find("\"samples\": {\"blocking_us\": [");
        ASSERT_NE(samples, row.npos) << row;
        const std::string first = row.substr(samples, row.find(']', samples) - samples);
        EXPECT_EQ(count(first, ", "), 2u) << first;
    }
}

TEST(BenchOverlap, LeavesOutRepetitionsWhenItsBudgetIsSpent) {
    const Finished job = run(bench +
                             "overlap --collective ibarrier --engine manual --sizes 8 "
                             "--repetitions 100000000 --budget 0.2");
    EXPECT_EQ(job.status, 0) << job.err;
}

TEST(BenchOverlap, RefusesWhatItDoesNotKnow) {
    const Finished collective = run(bench + "overlap --collective ibroadcast");
    EXPECT_EQ(collective.status, 2);
    EXPECT_TRUE(
        contains(collective.err, "collective = \"ibroadcast\"; expected one of ibarrier, "));
    const Finished engine = run(bench + "overlap --engine magic");
    EXPECT_EQ(engine.status, 2);
    EXPECT_TRUE(contains(engine.err, "engine = \"magic\"; expected one of manual, "));
    for (const char* sizes : {"''", "0", "8:", "4M:8", "8,,9", "1X", "65G", "-8"}) {
        const Finished size = run(bench + "overlap --sizes=" + sizes);
        EXPECT_NE(size.status, 0) << sizes;
        EXPECT_EQ(size.out, "") << sizes;
    }
}

TEST(BenchIdle, PrintsWhatEachRankBurned) {
    const Finished job = run(bench + "idle --late 0.1 --ranks 3");
    EXPECT_EQ(job.status, 0) << job.err;
    EXPECT_EQ(count(job.out, "  waits  "), 4u) << job.out;
    EXPECT_EQ(count(job.out, "  comes late  "), 2u) << job.out;
    EXPECT_TRUE(contains(job.out, "A waiting rank burned at most "));
}

TEST(BenchMicro, PrintsEveryPart) {
    const Finished job = run(bench + "micro --repetitions 3");
    EXPECT_EQ(job.status, 0) << job.err;
    for (const char* part : {"cached start of ibarrier", "building barrier dissemination",
                             "building allreduce recursive_doubling", "reducing sum of float64"}) {
        EXPECT_TRUE(contains(job.out, part));
    }
}

}  // namespace
}  // namespace weft::test
