// A cut link ends the operations on both of its sides, soon after WEFT_PEER_TIMEOUT.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::cut_test {

class Cut : public testing::TestWithParam<Driven> {
  public:
    // Where there are links.
    static std::vector<Driven> all() {
        std::vector<Driven> all = driven_by({"manual", "thread", "kernel"});
        std::erase_if(all, [](const Driven& driven) { return !std::get<0>(driven).has_nodes; });
        return all;
    }

  protected:
    void SetUp() override {
        for (const std::string& absence : {where().absence(), absence_of(engine())}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
    }
    static void expect(const std::string& arguments, const std::string& options = "") {
        for (int ranks : where().some_of({2, 3, 4})) {
            expect_success(where().command(
                {ranks, "tests/fault/cut_program " + engine() + " 12 " + arguments,
                 "WEFT_PEER_TIMEOUT=2 " + settings_of(engine()), "--timeout 60" + options}));
        }
    }
    static const Surroundings& where() { return std::get<0>(GetParam()); }
    static std::string engine() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Cut, testing::ValuesIn(Cut::all()), Everywhere::name_of);

TEST_P(Cut, LinkIsToldOnBothSides) { expect("eth0"); }

TEST_P(Cut, LinkIsToldToARankThatOnlyWaits) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect("eth0 waiting");
}

// What travels over the other link does not hide it.
TEST_P(Cut, LinkOfTwoIsToldOnBothSides) {
    if (engine() == "kernel") GTEST_SKIP() << "a dedicated connection has one link";
    if (!runs_all() && engine() != "thread") GTEST_SKIP() << "only in a run of all tests";
    expect("eth1", " --links 2");
    if (runs_all()) expect("eth0", " --links 2");
}

}  // namespace weft::test::cut_test
