// Joining a job under the launchers of MPIs, and from an MPI communicator.
#include <fstream>

#include "mpi/mpis.h"
#include "mpi/shared_key.h"
#include "support/test.h"

namespace weft::test::startup_test {

const std::string comms = WEFT_BUILD_DIR "/tests/conformance/comms_program ";

class MpiLaunched : public OnEveryMpi {};
INSTANTIATE_TEST_SUITE_P(On, MpiLaunched, testing::ValuesIn(mpis()), name_of_mpi);

// Three exchanges with cards of many sizes; the ranks agree on the key, which nobody else sees.
TEST_P(MpiLaunched, RanksSwapCardsAndShareAKey) {
    std::set<std::string> all;
    for (int ranks : {1, 2, 4}) {
        all.insert(shared_key(run(mpi().job(ranks, startup_rank + "key")), ranks));
    }
    EXPECT_EQ(all.size(), 3u);
}

TEST_P(MpiLaunched, ProgramsWithoutMpiRun) {
    expect_success(mpi().job(3, comms + "thread all_collectives"));
}

TEST_P(MpiLaunched, ARankThatNeverComesIsWaitedForSoLong) {
    const Finished done =
        run(mpi().job(2,
                      "sh -c 'if [ ${PMI_RANK:-$PMIX_RANK} = 1 ]; then sleep 1; else " +
                          startup_rank + "exchange; fi'",
                      "WEFT_STARTUP_TIMEOUT=0.5"));
    EXPECT_NE(done.status, 0);
    EXPECT_TRUE(contains(done.err + done.out, "not all ranks had started after 0.5 s"));
}

// WEFT_* says more than what a launcher further up has left.
TEST_P(MpiLaunched, ALauncherBelowAnMpisIsTheOneThatCounts) {
    expect_success(mpi().job(2, WEFT_BUILD_DIR "/weft run -n 3 " + startup_rank + "exchange"));
}

// Variables of an outer launcher, or of the program's own use of PyTorch, are no matter.
TEST_P(MpiLaunched, AnMpisLauncherBelowOthersIsTheOneThatCounts) {
    const std::string outer =
        "RANK=0 WORLD_SIZE=2 MASTER_ADDR=nowhere SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 "
        "SLURM_PROCID=0 SLURM_STEP_NODELIST=nowhere";
    shared_key(run(mpi().job(3, startup_rank + "key", outer)), 3);
}

// torchrun is started on each node by an MPI's launcher: its workers are the ranks.
TEST_P(MpiLaunched, TorchrunBelowAnMpisLauncherIsTheOneThatCounts) {
    const Folder folder;
    shared_key(run(mpi().job(2, "sh " + torchrun_in(folder))), 4);
}

// mpiexec in a step of srun --mpi=pmix, whose variables its ranks inherit.
TEST_P(MpiLaunched, ALauncherOfPmiBelowOneOfPmixIsTheOneThatCounts) {
    if (mpi().is_openmpi()) GTEST_SKIP() << "its launcher speaks PMIx itself";
    shared_key(
        run("export PMIX_NAMESPACE=outer PMIX_RANK=0; " + mpi().job(3, startup_rank + "key")), 3);
}

TEST_P(MpiLaunched, WeftInfoListsTheBuildOnceAndEveryRank) {
    const Finished done = expect_success(mpi().job(2, WEFT_BUILD_DIR "/weft info"));
    std::size_t listings = 0;
    std::size_t ranks = 0;
    for (const std::string& line : sorted_lines(done.out)) {
        if (line.starts_with("version ")) ++listings;
        if (line.starts_with("rank ")) ++ranks;
    }
    EXPECT_EQ(listings, 1u) << done.out;
    EXPECT_EQ(ranks, 2u) << done.out;
}

class FromMpi : public OnEveryMpi {
  protected:
    static void expect(const std::string& name, int ranks, const std::string& settings = "") {
        expect_success(
            mpi().job(ranks, mpi().compiled("from_mpi.c", "from_mpi") + " " + name, settings));
    }
};
INSTANTIATE_TEST_SUITE_P(On, FromMpi, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(FromMpi, TheFirstCommunicatorIsTheJob) {
    expect("job_is_the_group", 1);
    expect("job_is_the_group", 3);
}
// Each rank is alone then, which is seldom what was meant.
TEST_P(FromMpi, SaysThatWeftRunIsNotTheLauncherOfAnMpi) {
    const std::string program = mpi().compiled("from_mpi.c", "from_mpi") + " job_is_the_group";
    const std::string sentence = "weft: weft run has started 2 ranks, but each is an MPI job";
    const Finished two = expect_success(mpi().around(WEFT_BUILD_DIR "/weft run -n 2 " + program));
    EXPECT_TRUE(contains(two.err, sentence));
    EXPECT_EQ(two.err.find(sentence), two.err.rfind(sentence)) << two.err;
    const Finished one = expect_success(mpi().around(WEFT_BUILD_DIR "/weft run -n 1 " + program));
    EXPECT_FALSE(contains(one.err, "weft run has started"));
}

TEST_P(FromMpi, LaterCommunicatorsAreOfRanksOfTheJob) {
    expect("later_ones", 4);
    expect("later_ones", 4, "WEFT_TRANSPORT=mpi WEFT_ENGINE=manual");
}
TEST_P(FromMpi, CommunicatorsMayBeAcrossJobs) {
    expect("jobs_of_halves", 4);
    expect("some_are_initialized", 3);
}
TEST_P(FromMpi, IsPossibleAfterWeftInit) { expect("after_weft_init", 3); }
TEST_P(FromMpi, RefusesBadArguments) { expect("refused", 1); }

TEST_P(FromMpi, TheProgressThreadNeedsAnMpiForManyThreads) {
    expect("one_thread", 2, "WEFT_TRANSPORT=mpi");
    expect("one_thread", 2, "WEFT_TRANSPORT=mpi WEFT_ENGINE=thread");
}

// The program for an MPI in docs/using.md: its block of C.
TEST_P(FromMpi, TheDocumentedProgramCountsTheRanks) {
    const std::string page = content(WEFT_SOURCE_DIR "/docs/using.md");
    const std::string fence = "```c\n";
    const std::size_t begin = page.find(fence) + fence.size();
    const Folder folder;
    std::ofstream(folder / "program.c") << page.substr(begin, page.find("```", begin) - begin);
    const std::string program = folder / "program";
    expect_success(mpi().around("mpicc -Wall -Wextra -Werror -I" WEFT_SOURCE_DIR "/include " +
                                (folder / "program.c") + " -o " + program +
                                " -L" WEFT_BUILD_DIR " -lweft -Wl,-rpath," WEFT_BUILD_DIR));
    const Finished done = expect_success(mpi().job(3, program));
    EXPECT_EQ(done.out, "3 ranks\n");
}

// The header's functions are compiled with programs that have warnings of their own.
TEST_P(FromMpi, TheHeaderCompilesAsCxx) {
    const Folder folder;
    const std::string file = folder / "program.cpp";
    std::ofstream(file)
        << "#include <weft/mpi.h>\n"
           "int main() { weft_comm c; return weft_comm_from_mpi(MPI_COMM_SELF, &c); }\n";
    expect_success(
        mpi().around("mpicxx -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow "
                     "-Werror -fsyntax-only -I" WEFT_SOURCE_DIR "/include " +
                     file));
}

TEST_P(FromMpi, TheStandardsBinaryInterfaceIsOneMore) {
    if (!std::filesystem::exists(mpi().folder() + "/bin/mpicc_abi")) {
        GTEST_SKIP() << mpi().name << " has no compiler for it";
    }
    const std::string program = mpi().compiled("from_mpi.c", "from_mpi_abi", "mpicc_abi");
    expect_success(mpi().job(3, program + " later_ones", "WEFT_TRANSPORT=mpi WEFT_ENGINE=manual"));
}

TEST_P(FromMpi, AllCollectivesRun) {
    expect_success(
        mpi().job(4, "LD_PRELOAD=" + mpi().preloaded() + " " + comms + "thread all_collectives"));
}

}  // namespace weft::test::startup_test
