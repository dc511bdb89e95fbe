// Joining a job under Slurm's srun, on a Slurm of one node that each test starts for itself.
#include <fstream>

#include "mpi/mpis.h"
#include "mpi/shared_key.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::slurm_test {

const std::string comms = WEFT_BUILD_DIR "/tests/conformance/comms_program ";

// Slurm's module for PMIx is there wherever Slurm is; what it opens may not be.
bool has_no_libpmix(const Finished& done) {
    return done.status != 0 && done.err.find("can not load PMIx library") != std::string::npos;
}

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
    const Finished done = run(in_slurm("srun --mpi=pmix -n 3 " + startup_rank + "key"));
    if (has_no_libpmix(done))
        GTEST_SKIP() << "Slurm finds no libpmix; ./dev test --all installs it";
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

// A step of Slurm starts an MPI's launcher, whose processes also see what Slurm says of the step around it.
class SlurmStep : public Slurm, public testing::WithParamInterface<Mpi> {
  protected:
    void SetUp() override {
        Slurm::SetUp();
        if (IsSkipped()) return;
        if (const std::string absence = GetParam().absence(); !absence.empty())
            GTEST_SKIP() << absence;
    }

    // In the first of two tasks.
    Finished in_step(const std::string& mpi, const std::string& command) const {
        std::ofstream(folder_ / "task") << "[ $SLURM_PROCID = 0 ] || exit 0\n" << command << "\n";
        return run(in_slurm("srun --mpi=" + mpi + " --overlap -n 2 sh " + (folder_ / "task")));
    }

    const Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(On, SlurmStep, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(SlurmStep, AnMpisLauncherInsideIsTheOneThatCounts) {
    for (const char* mpi : {"none", "pmi2", "pmix"}) {
        SCOPED_TRACE(mpi);
        const Finished done = in_step(mpi, GetParam().job(3, startup_rank + "key"));
        if (!has_no_libpmix(done)) shared_key(done, 3);
    }
}

TEST_P(SlurmStep, TorchrunInsideOfThatIsTheOneThatCounts) {
    shared_key(in_step("none", GetParam().job(2, "sh " + torchrun_in(folder_))), 4);
}

// Variables of torchrun's kind, which a batch script or its user has set for something else.
TEST_P(SlurmStep, AnMpisLauncherInsideCountsBesideVariablesOfTorchrunsKind) {
    const std::string others = "export RANK=0 WORLD_SIZE=2 MASTER_ADDR=nowhere; ";
    shared_key(in_step("none", others + GetParam().job(3, startup_rank + "key")), 3);
}

}  // namespace weft::test::slurm_test
