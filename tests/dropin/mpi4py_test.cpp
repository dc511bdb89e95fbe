// mpi4py's wheel, as its users install it: one binary for all MPIs, which asks at run time what its MPI has.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "dropin/preload.h"
#include "dropin/statistics.h"
#include "mpi/mpis.h"

namespace weft::test::mpi4py_test {

class Mpi4py : public OnEveryMpi {
  protected:
    void SetUp() override {
        OnEveryMpi::SetUp();
        if (IsSkipped()) return;
        if (const std::string absence = preload_of(mpi().name).absence; !absence.empty())
            GTEST_SKIP() << absence;
        if (run(mpi().around(mpi().folder() + "/bin/python3 -c 'import mpi4py'")).status != 0)
            GTEST_SKIP() << "no mpi4py in " << mpi().folder() << "; ./dev test installs it";
    }
    static Finished calls(const std::string& settings) {
        return run(mpi().job(
            2, mpi().folder() + "/bin/python3 -B " WEFT_SOURCE_DIR "/tests/dropin/mpi4py/calls.py",
            preload_of(mpi().name).settings + " " + settings));
    }
};

INSTANTIATE_TEST_SUITE_P(On, Mpi4py, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(Mpi4py, EveryCollectiveGivesItsResult) {
    const Finished done = calls("");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n") << done.err;
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

TEST_P(Mpi4py, SoItDoesWhateverWeftTakes) {
    std::vector<std::string> all = {"WEFT_DISABLE=all", "WEFT_BLOCKING=1"};
    for (const std::string& settings : all) {
        if (!runs_all() && settings == "WEFT_BLOCKING=1") continue;
        const Finished done = calls(settings);
        EXPECT_EQ(done.status, 0) << settings << "\n" << done.out << done.err;
        EXPECT_EQ(done.out, "right\n") << settings << "\n" << done.err;
    }
}

}  // namespace weft::test::mpi4py_test
