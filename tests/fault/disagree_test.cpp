// WEFT_CHECK=1 on real processes: calls that do not match end on every rank, in words.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::disagree_test {

const std::string build = WEFT_BUILD_DIR;

class Disagreed : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Disagreed, Everywhere::all(), Everywhere::name_of);

TEST_P(Disagreed, CallsAreToldInWordsOnEveryRank) {
    for (int ranks : some_of({2, 3, 4, 7})) {
        for (int odd = 0; odd < ranks; ++odd) {
            expect_success(command(
                {ranks, "tests/fault/disagree_program " + engine() + " " + std::to_string(odd),
                 "WEFT_CHECK=1"}));
        }
    }
}

TEST(Disagreement, OnWhetherToCheckIsRefused) {
    expect_failure(build +
                       "/weft run --timeout 30 -n 2 sh -c 'export WEFT_CHECK=$WEFT_RANK; exec " +
                       build + "/tests/fault/disagree_program manual 0'",
                   "rank 1 has WEFT_CHECK='1', rank 0 has '0'");
}

TEST(Disagreement, NeedsASwitchThatIsOffOrOn) {
    const Finished job = run("WEFT_CHECK=yes " + build + "/weft run -n 1 " + build +
                             "/tests/fault/disagree_program manual 0");
    EXPECT_NE(job.err.find("WEFT_CHECK = 'yes'; expected 0 or 1"), std::string::npos) << job.err;
}

}  // namespace weft::test::disagree_test
