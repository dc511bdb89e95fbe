// WEFT_TIMEOUT ends every call that waits for a stopped rank, with a status that names it.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::frozen_test {

const std::string build = WEFT_BUILD_DIR;

class Frozen : public Everywhere {
  protected:
    static void expect(const std::string& mode, std::initializer_list<int> ranks) {
        std::vector<std::string> jobs;
        for (int n : ranks) {
            jobs.push_back(command({n, "tests/fault/frozen_program " + mode + " " + engine(),
                                    "WEFT_TIMEOUT=1 WEFT_PEER_TIMEOUT=2"}));
        }
        expect_success(run_at_once(jobs));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Frozen, Everywhere::all(), Everywhere::name_of);

TEST_P(Frozen, RankIsNamedByAWait) { expect("wait", {2, 3}); }
TEST_P(Frozen, RankIsNamedByABlockingCollective) { expect("collective", {2, 3}); }
TEST_P(Frozen, RankIsNamedByAConstructor) { expect("constructor", {2}); }
TEST_P(Frozen, RankIsNamedByFinalize) { expect("finalize", {2}); }

TEST(Timeout, ThatIsMalformedIsRefused) {
    for (const char* text : {"0", "soon", "-1", "\"\""}) {
        expect_failure("WEFT_TIMEOUT=" + std::string(text) + " " + build + "/weft run -n 1 " +
                           build + "/tests/fault/frozen_program wait manual",
                       "expected seconds, more than 0");
    }
}

}  // namespace weft::test::frozen_test
