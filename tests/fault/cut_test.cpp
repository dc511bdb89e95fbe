// A cut link ends the operations on both of its sides, soon after WEFT_PEER_TIMEOUT.
#include <gtest/gtest.h>

#include <string>

#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test {
namespace {

class Cut : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Cut, testing::Values("manual", "thread", "kernel"));

TEST_P(Cut, LinkIsToldOnBothSides) {
    const Surroundings& where = surroundings("mixed");
    for (const std::string& absence : {where.absence(), absence_of(GetParam())}) {
        if (!absence.empty()) GTEST_SKIP() << absence;
    }
    for (int ranks : where.some_of({2, 3, 4})) {
        expect_success(
            where.command({ranks, std::string("tests/fault/cut_program ") + GetParam() + " 12",
                           "WEFT_PEER_TIMEOUT=2 " + settings_of(GetParam())}));
    }
}

// UCX leaves it to the kernel to end a TCP connection, which takes that much longer.
class CutUnderUcx : public testing::TestWithParam<const char*> {
  protected:
    static void expect(const std::string& mode) {
        const Surroundings& where = surroundings("mixed");
        for (const std::string& absence : {where.absence(), ucx_absence("tcp")}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        for (int ranks : where.some_of({2, 3, 4})) {
            expect_success(where.command(
                {ranks, std::string("tests/fault/cut_program ") + GetParam() + " 12" + mode,
                 "WEFT_TRANSPORT=ucx UCX_TLS=tcp UCX_NET_DEVICES=eth0 UCX_LOG_LEVEL=error "
                 "WEFT_PEER_TIMEOUT=2"}));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Engine, CutUnderUcx, testing::Values("manual", "thread"));

TEST_P(CutUnderUcx, LinkIsToldOnBothSides) { expect(""); }
TEST_P(CutUnderUcx, LinkIsToldToARankThatOnlyWaits) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect(" waiting");
}

}  // namespace
}  // namespace weft::test
