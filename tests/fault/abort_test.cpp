// One rank calls off what is pending on a communicator, at any moment: all learn who and why, and other communicators
// go on.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::abort_test {

class Aborted : public Everywhere {
  protected:
    static void expect_reasons(int aborts, const std::string& settings = "") {
        for (const int ranks : some_of({2, 3, 4})) {
            const int seed = ranks + static_cast<int>(engine().size());
            // Told by the abort, not by a time-out. (UCX ends transfers that have begun: decision 15.)
            const char* const milliseconds = where().ucx != nullptr ? " 5000" : " 2000";
            const Finished job = expect_success(
                command({.ranks = ranks,
                         .program = "tests/fault/abort_program " + std::to_string(aborts) + " " +
                                    std::to_string(seed) + milliseconds,
                         .settings = settings}));
            std::printf("%s", job.out.c_str());
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Aborted, Everywhere::all(), Everywhere::name_of);

TEST_P(Aborted, CommunicatorSaysWhoAndWhy) { expect_reasons(runs_all() ? 1000 : 6); }

// The receiver reads from the sender's buffer.
TEST_P(Aborted, CommunicatorSaysWhoAndWhyWhileBuffersAreRead) {
    if (where().name != std::string("shm")) GTEST_SKIP() << "over shared memory alone";
    expect_reasons(runs_all() ? 1000 : 6, "WEFT_SHM_LARGE=vm_readv");
}

}  // namespace weft::test::abort_test
