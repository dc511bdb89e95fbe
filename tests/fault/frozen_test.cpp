// WEFT_TIMEOUT ends every call that waits for a stopped rank, with a status that names it.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tools/process.h"

namespace weft::test {
namespace {

const std::string build = WEFT_BUILD_DIR;

class Frozen : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(CallAndEngine, Frozen,
                         testing::Combine(testing::Values("wait", "collective", "constructor",
                                                          "finalize"),
                                          testing::Values("manual", "thread")));

TEST_P(Frozen, RankIsNamedWhenTheTimeHasPassed) {
    const auto [mode, engine] = GetParam();
    for (int ranks : {2, 3}) {
        if (ranks > 2 && std::string(mode) != "collective") continue;
        std::string command = "WEFT_TIMEOUT=0.5 " + build + "/weft run --timeout 60 -n " +
                              std::to_string(ranks) + " " + build + "/tests/fault/frozen_program " +
                              mode + " " + engine;
        Process job(command);
        job.finish();
        EXPECT_EQ(job.status, 0) << "repeat with: " << command << "\n" << job.out << job.err;
    }
}

TEST(Timeout, ThatIsMalformedIsRefused) {
    for (const char* text : {"0", "soon", "-1", "\"\""}) {
        Process job("WEFT_TIMEOUT=" + std::string(text) + " " + build + "/weft run -n 1 " + build +
                    "/tests/fault/frozen_program wait manual");
        job.finish();
        EXPECT_NE(job.status, 0);
        EXPECT_NE(job.err.find("expected seconds, more than 0"), std::string::npos) << job.err;
    }
}

}  // namespace
}  // namespace weft::test
