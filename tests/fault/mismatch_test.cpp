// A mismatched call ends on every rank in a status that names a rank and both sizes.
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::mismatch_test {

class Mismatch : public Everywhere {};
INSTANTIATE_TEST_SUITE_P(Jobs, Mismatch, Everywhere::all(), Everywhere::name_of);

TEST_P(Mismatch, IsToldToEveryRank) {
    for (int ranks : some_of({2, 3, 4, 5})) {
        for (const char* counts : {"2 3", "3 2", "10000 2", "2 10000", "100000 100001"}) {
            expect_success(
                command({.ranks = ranks,
                         .program = std::string("tests/fault/mismatch_program ") + counts,
                         .options = "--timeout 30"}));
        }
    }
}

TEST_P(Mismatch, IsToldToEveryRankThatWaitsForItsCts) {
    const bool is_dedicated = engine() == "kernel" || where().name == std::string("tcp_dedicated");
    if (!is_dedicated) GTEST_SKIP() << "no connections are dedicated";
    for (const char* counts : {"10000 2", "2 10000", "100000 100001"}) {
        expect_success(command({.ranks = 3,
                                .program = std::string("tests/fault/mismatch_program ") + counts,
                                .settings = dedicated_rendezvous,
                                .options = "--timeout 30"}));
    }
}

}  // namespace weft::test::mismatch_test
