// What weft_schedule_check says is the same on every rank, also when ranks end as soon as they know.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::verdict_test {

class Verdict : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Verdict, testing::ValuesIn(driven_by({"manual", "thread"})),
                         Everywhere::name_of);

TEST_P(Verdict, IsTheSameOnEveryRankAlsoWhenSomeEnd) {
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) {
        expect_success(command({5, "tests/fault/verdict_program", ""}));
    }
}

}  // namespace weft::test::verdict_test
