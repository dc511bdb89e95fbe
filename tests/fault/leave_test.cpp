// A receive from any source ends when no rank is left that could send to it.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::leave_test {

class Leave : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Leave, testing::ValuesIn(driven_by({"manual", "thread"})),
                         Everywhere::name_of);

TEST_P(Leave, EndsReceivesFromAnySource) {
    for (const int ranks : some_of({2, 3}))
        expect_success(command(
            {.ranks = ranks, .program = "tests/fault/leave_program", .options = "--timeout 60"}));
}

}  // namespace weft::test::leave_test
