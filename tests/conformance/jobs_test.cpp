// Real processes: what holds of jobs apart from what their collectives give.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::jobs_test {

class Jobs : public Everywhere {
  protected:
    static void expect(const std::string& program) {
        expect_success(command(
            {.ranks = 2, .program = "tests/conformance/" + program, .options = "--timeout 90"}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Jobs, Everywhere::all(), Everywhere::name_of);

TEST_P(Jobs, AreNotDisturbedByAForkedChildThatExits) {
    if (where().ucx != nullptr) GTEST_SKIP() << "the child keeps UCX's descriptors";
    expect("fork_program");
}
TEST_P(Jobs, KeepTheContractOfPendingOperations) { expect("pending_program"); }
TEST_P(Jobs, CombineInTheProgramsThreadsByConfinedFunctions) { expect("confined_program"); }
TEST_P(Jobs, GoOnWhenAThreadEndsInsideOfWeft) {
    const std::string name = where().name;
    if (name != "shm" && name != "tcp" && !runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect("ending_program");
}
TEST_P(Jobs, KeepTheContractOfRequests) { expect("request_program"); }

// A connection of tcp counts messages in 16 bits, with task lists, too. (ucx and mpi: unit tests,
// which begin to count near the end.)
TEST_P(Jobs, GoOnAfterTheLargestNumberOfAMessage) {
    const bool is_usual = std::string(where().name) == "tcp" && engine() == "thread";
    if (!is_usual && !runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect("many_program 66000");
}

// Shared memory counts waits in 23 bits, and places in a ring in 24 bits of records.
TEST(JobsOfManyOperations, GoOnOverSharedMemory) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect_success(run("WEFT_TRANSPORT=shm " WEFT_BUILD_DIR
                       "/weft run --timeout 220 -n 2 " WEFT_BUILD_DIR
                       "/tests/conformance/many_program " +
                           std::to_string((1 << 24) + 10),
                       4 * hang_ns));
}

TEST_P(Jobs, DoNotGrowWithPersistentRequestsThatComeAndGo) {
    expect(runs_all() ? "memory_program" : "memory_program 40000");
}
TEST_P(Jobs, TakeNoTimeWhenNothingIsPending) {
    if (engine() == "manual") GTEST_SKIP() << "there is no thread that could";
    expect(runs_all() ? "quiet_program 5" : "quiet_program 2");
}

// A program that opens the library itself, perhaps as a plug-in does.
TEST(JobsLeft, CannotBeJoinedAgainByAProgramThatOpensTheLibraryAgain) {
    const Folder folder;
    const std::string source = folder / "reopen.c";
    std::ofstream(source) << R"(#include <dlfcn.h>
#include <stdio.h>
typedef int (*function)(void);
int main(int argc, char** argv) {
    for (int i = 0; i < 2; ++i) {
        void* library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
        if (!library) return printf("%s\n", dlerror()), 1;
        const char* (*detail)(void) = (const char* (*)(void))dlsym(library, "weft_last_detail");
        int status = ((function)dlsym(library, "weft_init"))();
        if (i == 1) return puts(detail()), status == 0;
        if (status != 0 || ((function)dlsym(library, "weft_finalize"))() != 0)
            return puts(detail()), 1;
        dlclose(library);
    }
}
)";
    const std::string program = folder / "reopen";
    expect_success("eval \"" WEFT_C_COMPILER " " WEFT_C_FLAGS "\" -o " + program + " " + source +
                   " -ldl");
    for (const std::string launch : {"", WEFT_BUILD_DIR "/weft run --timeout 60 -n 2 "}) {
        const Finished job = expect_success(launch + program + " " WEFT_BUILD_DIR "/libweft.so");
        EXPECT_TRUE(contains(job.out, "Weft was finalized; a process can join its job only once"))
            << job.out << job.err;
    }
}

#if WEFT_HAS_TCP
TEST(JobsWithoutTheInterface, AreRefusedOnlyWhereTcpIsNeeded) {
    const std::string job =
        " WEFT_INTERFACES=weft-none " WEFT_BUILD_DIR "/weft run --timeout 30 -n 2 " WEFT_BUILD_DIR
        "/tests/conformance/descriptors_program";
    expect_success("WEFT_TRANSPORT=auto" + job);
    expect_failure("WEFT_TRANSPORT=tcp" + job, "WEFT_INTERFACES names 'weft-none'");
}

// weft run gives its ranks the loopback interface: who has not set it is not told that it was
// wrong.
TEST(JobsWithoutTheInterface, AreNotToldOfASettingThatTheLauncherMade) {
    const std::string unshare = "unshare --user --map-root-user --net ";
    if (run(unshare + "true").status != 0) GTEST_SKIP() << "there are no network namespaces";
    const Finished refused =
        expect_failure("WEFT_TRANSPORT=tcp " + unshare +
                           WEFT_BUILD_DIR "/weft run --timeout 30 -n 2 " WEFT_BUILD_DIR
                                          "/tests/conformance/many_program 1",
                       "the loopback interface lo is not up or has no address");
    EXPECT_EQ(refused.err.find("WEFT_INTERFACES names"), std::string::npos) << refused.err;
}
#endif

TEST(JobsThatDiffer, AreRefusedWithTheRankAndTheSetting) {
    const std::string build = WEFT_BUILD_DIR;
    expect_failure(build +
                       "/weft run --timeout 30 -n 3 sh -c 'if [ $WEFT_RANK = 2 ]; then export "
                       "WEFT_ALGORITHM=bcast=chain; fi; exec " +
                       build + "/tests/conformance/comms_program manual all_collectives'",
                   "rank 2 has WEFT_ALGORITHM='bcast=chain', rank 0 has ''");
}

// Rank 1 has a bad setting. What the job says.
std::string said_with_bad(const std::string& setting) {
    const std::string build = WEFT_BUILD_DIR;
    const Finished job =
        run(build + "/weft run --timeout 30 -n 3 sh -c 'if [ $WEFT_RANK = 1 ]; then export " +
            setting + "=some; fi; exec " + build + "/tests/fault/join_program'");
    EXPECT_EQ(job.status, 1);
    return job.err;
}

// The others learn it from weft_init, too: they do not get as far as a collective.
TEST(JobsThatDiffer, AreRefusedOnAllRanksForAMalformedSetting) {
    for (const std::string name :
         {"WEFT_ENGINE", "WEFT_ALGORITHM", "WEFT_TUNING", "WEFT_TIMEOUT", "WEFT_TRANSPORT",
          "WEFT_RESOURCES", "WEFT_TOPOLOGY", "WEFT_STATS", "WEFT_SELECT"}) {
        const std::string said = said_with_bad(name);
        for (const std::string rank : {"0", "1", "2"})
            EXPECT_TRUE(contains(
                said, "rank " + rank + ": weft_init: WEFT_REFUSED_SETTING: rank 1: " + name));
    }
}

TEST(JobsOnATorus, HaveItOnAllRanksInTheirOrder) {
    const std::string job = WEFT_BUILD_DIR "/weft run --timeout 30 -n 4 " WEFT_BUILD_DIR
                                           "/tests/conformance/comms_program manual ";
    const std::string chosen = "WEFT_ALGORITHM=gather=torus,alltoall=torus ";
    expect_success("WEFT_TOPOLOGY=torus:2x2 " + chosen + job + "all_collectives");
    const std::string lacks =
        "=torus needs a torus (WEFT_TOPOLOGY) of the communicator's ranks, in this order; this "
        "call "
        "has none";
    Finished refused = run("WEFT_TOPOLOGY=torus:2x2 " + chosen + job + "splits");
    EXPECT_NE(refused.status, 0);
    EXPECT_TRUE(contains(refused.err, lacks)) << refused.err;
    refused = run(chosen + job + "all_collectives");
    EXPECT_NE(refused.status, 0);
    EXPECT_TRUE(contains(refused.err, lacks)) << refused.err;
}

TEST(JobsOnATorus, AreRefusedIfItHasAnotherForm) {
    for (auto [setting, sentence] :
         {std::pair{"torus:2x3", "has 6 ranks; expected 4, as many as the job"},
          std::pair{"torus:4", "expected two or three sizes, such as torus:4x4"},
          std::pair{"torus:1x1x2x2", "expected two or three"}, std::pair{"4x1", "expected two"},
          std::pair{"torus:2x", "expected two"}, std::pair{"mesh:2x2", "expected two"}}) {
        const Finished refused = expect_failure(
            std::string("WEFT_TOPOLOGY=") + setting +
                " " WEFT_BUILD_DIR "/weft run --timeout 30 -n 4 " WEFT_BUILD_DIR
                "/tests/fault/join_program",
            std::string("WEFT_REFUSED_SETTING: rank 0: WEFT_TOPOLOGY = '") + setting + "'");
        EXPECT_TRUE(contains(refused.err, sentence));
    }
}

}  // namespace weft::test::jobs_test
