// Joining a job under Slurm's srun, on a Slurm of one node that each test starts for itself.
#include "mpi/shared_key.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::slurm_test {

const std::string comms = WEFT_BUILD_DIR "/tests/conformance/comms_program ";

bool is_program(const std::string& name) {
    return run("PATH=$PATH:/usr/sbin:/sbin command -v " + name + " >/dev/null").status == 0;
}

class Slurm : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* name : {"srun", "slurmctld", "slurmd", "python3"}) {
            if (!is_program(name))
                GTEST_SKIP() << "no " << name << "; ./dev test --all installs it";
        }
    }

    static std::string in_slurm(const std::string& command) {
        return "exec timeout -k 2 55 " WEFT_SOURCE_DIR "/tests/mpi/in_slurm '" + command + "'";
    }
};

TEST_F(Slurm, ProgramsRunOverPmi) {
    shared_key(run(in_slurm("srun --mpi=pmi2 -n 3 " + startup_rank + "key")), 3);
    expect_success(in_slurm("srun --mpi=pmi2 -n 3 " + comms + "thread all_collectives"));
}

TEST_F(Slurm, ProgramsRunOverPmix) {
    // Its module is there wherever Slurm is; what it opens may not be.
    const Finished done = run(in_slurm("srun --mpi=pmix -n 3 " + startup_rank + "key"));
    if (done.status != 0 && done.err.find("can not load PMIx library") != std::string::npos) {
        GTEST_SKIP() << "Slurm finds no libpmix; ./dev test --all installs it";
    }
    shared_key(done, 3);
    expect_success(in_slurm("srun --mpi=pmix -n 3 " + comms + "thread all_collectives"));
}

// The tasks find each other by themselves.
TEST_F(Slurm, ProgramsRunWithoutPmi) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    shared_key(run(in_slurm("srun --mpi=none -n 3 " + startup_rank + "key")), 3);
    expect_success(in_slurm("srun --mpi=none -n 3 " + comms + "thread all_collectives"));
}

TEST_F(Slurm, ATaskThatEndsEarlyEndsTheJobWithASentence) {
    const Finished done =
        run(in_slurm("srun --mpi=pmi2 -n 2 sh -c \"[ \\$SLURM_PROCID = 0 ] || exit 3; "
                     "WEFT_STARTUP_TIMEOUT=1 exec " +
                     comms + "thread all_collectives\""));
    EXPECT_NE(done.status, 0);
    EXPECT_TRUE(contains(done.err + done.out, "not all ranks had started after 1 s"));
}

}  // namespace weft::test::slurm_test
