// A rank that computes for longer than WEFT_PEER_TIMEOUT does not count as dead.
#include <gtest/gtest.h>

#include "support/surroundings.h"

namespace weft::test {
namespace {

class Busy : public testing::TestWithParam<Surroundings> {};
INSTANTIATE_TEST_SUITE_P(Jobs, Busy, testing::ValuesIn(surroundings()),
                         [](const auto& where) { return where.param.name; });

TEST_P(Busy, RankIsNotTakenForDead) {
    const Surroundings& where = GetParam();
    if (!where.absence().empty()) GTEST_SKIP() << where.absence();
    expect_success(where.command({2, "tests/fault/busy_program 2.5", "WEFT_PEER_TIMEOUT=1"}));
}

}  // namespace
}  // namespace weft::test
