// WEFT_CHECK=1 on real processes: calls that do not match end on every rank, in words.
#include <gtest/gtest.h>

#include <string>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

TEST(Disagreement, IsToldInWordsOnEveryRank) {
    for (const char* engine : {"manual", "thread"}) {
        for (int ranks : {2, 3, 4, 7}) {
            for (int odd = 0; odd < ranks; ++odd) {
                std::string command = "WEFT_CHECK=1 " + build + "/weft run --timeout 60 -n " +
                                      std::to_string(ranks) + " " + build +
                                      "/tests/fault/disagree_program " + engine + " " +
                                      std::to_string(odd);
                Process job(command);
                job.finish();
                ASSERT_EQ(job.status, 0) << "repeat with: " << command << "\n"
                                         << job.out << job.err;
            }
        }
    }
}

TEST(Disagreement, OnWhetherToCheckIsRefused) {
    Process job(build + "/weft run --timeout 30 -n 2 sh -c 'export WEFT_CHECK=$WEFT_RANK; exec " +
                build + "/tests/fault/disagree_program manual 0'");
    job.finish();
    EXPECT_NE(job.status, 0);
    EXPECT_NE(job.err.find("rank 1 has WEFT_CHECK='1', rank 0 has '0'"), std::string::npos)
        << job.err;
}

TEST(Disagreement, NeedsASwitchThatIsOffOrOn) {
    Process job("WEFT_CHECK=yes " + build + "/weft run -n 1 " + build +
                "/tests/fault/disagree_program manual 0");
    job.finish();
    EXPECT_NE(job.err.find("WEFT_CHECK = 'yes'; expected 0 or 1"), std::string::npos) << job.err;
}

}  // namespace
}  // namespace weft::test
