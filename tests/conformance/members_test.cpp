// Communicators made from lists of ranks, on real processes: members_program.cpp says what must hold.
#include <gtest/gtest.h>

#include <string>

#include "support/surroundings.h"

namespace weft::test {
namespace {

class CommsFromMembers : public Everywhere {
  protected:
    static void expect(const std::string& name, const std::string& settings = "") {
        for (int ranks : where().some_of({1, 3, 4, 7})) {
            expect_success(command(
                {ranks, "tests/conformance/members_program " + engine() + " " + name, settings}));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, CommsFromMembers, Everywhere::all(), Everywhere::name_of);

TEST_P(CommsFromMembers, OverlapAndCarryCollectives) { expect("overlapping"); }
TEST_P(CommsFromMembers, AreUsedByFastRanksBeforeSlowOnesHaveThem) { expect("ahead"); }
TEST_P(CommsFromMembers, UseNumbersAgain) { expect("reused"); }
TEST_P(CommsFromMembers, HaveTopologies) { expect("topologies"); }
TEST_P(CommsFromMembers, RefuseBadLists) { expect("refused"); }
TEST_P(CommsFromMembers, EndWaitsAfterTheTimeout) { expect("late", "WEFT_TIMEOUT=0.5"); }
TEST_P(CommsFromMembers, AreAsGoodWhenEveryCallIsChecked) {
    for (const char* name : {"overlapping", "ahead"}) expect(name, "WEFT_CHECK=1");
}
TEST_P(CommsFromMembers, AreUsedEarlyWithEitherProtocol) {
    for (const char* bytes : {"0", "1G"}) expect("ahead", std::string("WEFT_RENDEZVOUS=") + bytes);
}

}  // namespace
}  // namespace weft::test
