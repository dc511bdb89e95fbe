// A rank that computes for longer than WEFT_PEER_TIMEOUT does not count as dead.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::busy_test {

class Busy : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Busy, testing::ValuesIn(driven_by({"manual", "kernel"})),
                         Everywhere::name_of);

TEST_P(Busy, RankIsNotTakenForDead) {
    expect_success(command({2, "tests/fault/busy_program 2.5", "WEFT_PEER_TIMEOUT=1"}));
}

}  // namespace weft::test::busy_test
