// Ranks in a sandbox that forbids a system call: Weft does without it where it can, and otherwise
// names it.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::sandbox_test {

const std::string build = WEFT_BUILD_DIR;
const std::string sandbox = build + "/tests/fault/sandbox_program ";
const std::string program = build + "/tests/conformance/many_program 100";
const std::string launch = build + "/weft run --timeout 60 -n 2 ";

class Sandbox : public testing::Test {
  protected:
    void SetUp() override {
        if (run(sandbox + "getrandom EPERM true").status == 77)
            GTEST_SKIP() << "there is no seccomp";
    }
};

#if WEFT_HAS_TCP
constexpr const char* sentence =
    "weft: shm is not available, using tcp within the node: cannot create shared memory: "
    "memfd_create: ";

TEST_F(Sandbox, WithoutSharedMemoryRanksUseTcp) {
    for (const std::string error : {"EPERM", "ENOSYS"}) {
        const std::string forbidden = sandbox + "memfd_create " + error + " ";
        const Finished all = expect_success(forbidden + launch + program);
        EXPECT_TRUE(contains(all.err, sentence)) << all.err;
        // The other rank has it.
        const Finished one =
            expect_success(launch + "sh -c 'if [ $WEFT_RANK = 1 ]; then exec " + forbidden +
                           program + "; else exec " + program + "; fi'");
        EXPECT_TRUE(contains(one.err, sentence)) << one.err;
    }
}

TEST_F(Sandbox, NamesTheCallWhereSharedMemoryIsAskedFor) {
    expect_failure("WEFT_TRANSPORT=shm " + sandbox + "memfd_create EPERM " + launch + build +
                       "/tests/conformance/descriptors_program",
                   "cannot create shared memory: memfd_create: Operation not "
                   "permitted");
}
#endif

TEST_F(Sandbox, WithoutGetrandomThereIsADevice) {
    for (const std::string transport : {"shm", "tcp"}) {
        if (transport == "tcp" && !WEFT_HAS_TCP) continue;
        for (const std::string error : {"EPERM", "ENOSYS"}) {
            expect_success("WEFT_TRANSPORT=" + transport + " " + sandbox + "getrandom " + error +
                           " " + launch + program);
        }
    }
}

}  // namespace weft::test::sandbox_test
