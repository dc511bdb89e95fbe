// What the library does in the background interrupts no system call of the program, whichever engine
// does it; but for kernel:own, which says so.
#include "support/process.h"
#include "support/test.h"

namespace weft::test::interrupts_test {

class Interrupts : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Engine, Interrupts, testing::Values("thread", "kernel", "auto"));

TEST_P(Interrupts, NoSleepOfTheProgramOverTcp) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    const std::string engine = GetParam();
    const Finished job =
        expect_success("WEFT_STATS=1 WEFT_TRANSPORT=tcp WEFT_ENGINE=" + engine +
                       " " WEFT_BUILD_DIR "/weft run --timeout 60 -n 3 " WEFT_BUILD_DIR
                       "/tests/conformance/interrupts_program");
    const bool has_io_uring =
        contains(run(WEFT_BUILD_DIR "/weft info").out, "\nio_uring              works");
    if (engine == "kernel" && has_io_uring) {
        EXPECT_TRUE(contains(job.err, "operations offloaded, 0 not")) << "tried without the engine";
    }
}

}  // namespace weft::test::interrupts_test
