// Of the values of a test's parameter, those whose turn it is.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::turn_test {

class Turn : public testing::TestWithParam<int> {
  protected:
    // In how many of three runs, one after the other, this test is one of those that run.
    static int count() {
        const char* const set = std::getenv("WEFT_TEST_TURN");
        const std::string before = set != nullptr ? set : "";
        int found = 0;
        for (int turn = 7; turn < 10; ++turn) {
            setenv("WEFT_TEST_TURN", std::to_string(turn).c_str(), 1);
            found += is_its_turn(3) ? 1 : 0;
        }
        unsetenv("WEFT_TEST_TURN");
        EXPECT_TRUE(is_its_turn(3)) << "not all tests that a filter names run";
        if (set != nullptr) setenv("WEFT_TEST_TURN", before.c_str(), 1);
        return found;
    }
};
INSTANTIATE_TEST_SUITE_P(Of, Turn, testing::Range(0, 4));

TEST_P(Turn, ComesOnceInThreeRuns) { EXPECT_EQ(count(), runs_all() ? 3 : 1); }

}  // namespace weft::test::turn_test
