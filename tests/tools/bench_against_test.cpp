// `weft bench ... --against` without an MPI, and players that need none: plain sockets, a copy thread.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/pattern.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::bench_against_test {

const std::string bench = WEFT_BUILD_DIR "/weft bench ";

// What a run against this MPI prints; `folder` holds its bin.
Finished against(const std::string& mpi, const std::string& folder, const std::string& scenario) {
    return run("export WEFT_BENCH_MPI_" + mpi + "=" + folder + "; " + bench + scenario);
}

TEST(BenchAgainst, NamesWhatIsNotThereAndSaysHowToGetIt) {
    const Finished unset = run("unset WEFT_BENCH_MPI_MPICH; " + bench + "mpi --against mpich");
    EXPECT_TRUE(contains(unset.out, "Missing: mpi, mpich: WEFT_BENCH_MPI_MPICH is not set; "));
    EXPECT_TRUE(contains(unset.out, "./dev bench --against mpich installs one"));
    EXPECT_EQ(unset.status, 1);
    EXPECT_TRUE(contains(unset.err, "nothing was measured"));
    const Folder empty;
    const Finished missing =
        against("OPENMPI", empty / "", "'mpi' preload --against openmpi --set repetitions=1");
    EXPECT_TRUE(contains(missing.out, "Missing: mpi, openmpi: WEFT_BENCH_MPI_OPENMPI = '"));
    EXPECT_TRUE(contains(missing.out, "' has no bin/mpicc"));
}

TEST(BenchAgainst, EndsWellIfAnythingWasMeasured) {
    const std::string quick =
        " --set collective=ibarrier --set bytes=8 --set cores=none --set repetitions=1";
    const Finished mixed =
        expect_success("unset WEFT_BENCH_MPI_MPICH; " + bench + "mpi aa --against mpich" + quick);
    EXPECT_TRUE(contains(mixed.out, "Missing: mpi, mpich: WEFT_BENCH_MPI_MPICH is not set; "));
    EXPECT_TRUE(contains(mixed.out, "Missing: aa, mpich: the scenario compares nothing with an "));
}

TEST(BenchAgainst, SaysWhyAPartCannotBeCompiled) {
    const Folder folder;
    ASSERT_EQ(run("mkdir " + (folder / "bin") + "; cd " + (folder / "bin") +
                  "; echo 'echo no compiler here; exit 1' > mpicc; cp mpicc mpiexec; chmod +x *")
                  .status,
              0);
    const Finished job = against("IMPI", folder / "", "mpi --against impi");
    EXPECT_TRUE(contains(job.out, "no compiler here\n"));
    EXPECT_TRUE(contains(job.out, "Missing: mpi, impi: its mpicc cannot compile "));
}

pid_t pid_in(const std::string& path) {
    pid_t pid = 0;
    std::ifstream(path) >> pid;
    return pid;
}

// An MPI whose ranks run until they are ended.
TEST(BenchAgainst, LeavesNothingWhenItIsEnded) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        SCOPED_TRACE(sigabbrev_np(number));
        const Folder folder;
        const std::string temporary = folder / "temporary";
        ASSERT_EQ(run("mkdir " + temporary + " " + (folder / "bin") + "; cd " + (folder / "bin") +
                      "; echo 'exit 0' > mpicc; echo 'echo $$ > " + (folder / "new") + "; mv " +
                      (folder / "new") + " " + (folder / "pid") +
                      "; exec sleep 1000' > mpiexec; sed -i '1i #!/bin/sh' *; chmod +x *")
                      .status,
                  0);
        ChildProcess job("cd " + temporary + "; TMPDIR=" + temporary + " WEFT_BENCH_MPI_IMPI=" +
                         (folder / "") + " exec " + bench + "mpi --against impi");
        ASSERT_TRUE(becomes_true([&] { return pid_in(folder / "pid") > 0; }));
        const pid_t ranks = pid_in(folder / "pid");
        kill(job.pid(), number);
        job.finish();
        EXPECT_EQ(job.status, 128 + number) << job.err;
        EXPECT_TRUE(becomes_true([&] { return kill(ranks, 0) != 0; }));
        EXPECT_TRUE(std::filesystem::is_empty(temporary));
    }
}

TEST(BenchAgainst, RefusesWhatItDoesNotKnow) {
    expect_refusal(bench + "mpi --against lam", 2,
                   "against = \"lam\"; expected some of mpich, openmpi, impi");
    expect_refusal(bench + "mpi --async", 2, "--async without --against");
    const Finished nodes = run("WEFT_BENCH_MPI_MPICH=/ " + bench +
                               "mpi --against mpich --set nodes=2 --set ranks=3 --set "
                               "bytes=8 --set collective=ibcast --set repetitions=1");
    EXPECT_TRUE(contains(nodes.out, "3 ranks on 2 nodes; expected as many ranks on each node"));
}

TEST(BenchAgainst, NamesLibNbcWhereItIsNotGiven) {
    const Folder folder;
    std::ofstream(folder / "one.json")
        << R"({"name": "one", "members": [{"implementation": "libnbc"}]})";
    const Finished done =
        run("unset WEFT_BENCH_LIBNBC; " + bench + (folder / "one.json") + " --against mpich");
    EXPECT_TRUE(contains(done.out, "Missing: one, libnbc: WEFT_BENCH_LIBNBC is not set; it names "))
        << done.out;
}

// Every result is verified: status 0 says that all were right.
TEST(BenchPlain, MovesBytesOverSocketsAndByACopyThread) {
    const Folder folder;
    std::ofstream(folder / "plain.json") << R"([
        {"name": "sockets", "bytes": 4097, "repetitions": 2, "until": 0,
         "collective": ["ibarrier", "ibcast", "isend", "iexchange", "igather", "iscatter",
                        "iallgather", "ialltoall", "ireduce", "iallreduce"],
         "progress": "tests:3", "compute": {"for": "20us"},
         "members": [{"implementation": "sockets"}, {"implementation": "sockets:spinning"},
                     {"implementation": "sockets:blocking"}]},
        {"name": "copies", "bytes": "3M", "repetitions": 2, "until": 0, "cores": "none",
         "collective": ["ibcast", "isend", "iexchange", "igather", "iscatter", "iallgather",
                        "ialltoall"],
         "members": [{"implementation": "copy thread:0"}]}])";
    const Finished done =
        expect_success(bench + (folder / "plain.json") + " --json " + (folder / "samples"));
    EXPECT_FALSE(contains(done.out, "Missing")) << done.out;
    const std::string samples = content(folder / "samples");
    EXPECT_EQ(matches_in(samples, "\"kind\":\"sample\"").size(), (10 * 3 + 7) * 2u);
}

TEST(BenchPlain, ComputesInAFiberUntilAnotherHasWaited) {
    const Folder folder;
    std::ofstream(folder / "behind.json") << R"({"name": "behind", "bytes": 4097,
        "repetitions": 2, "until": 0, "collective": "ibcast", "cores": "none",
        "compute": {"for": "20us"}, "members": [{"name": "fiber", "progress": "fiber:until"}]})";
    const Finished done =
        expect_success(bench + (folder / "behind.json") + " --json " + (folder / "samples"));
    if (contains(done.out, "this build has no fibers")) GTEST_SKIP() << "this build has no fibers";
    EXPECT_EQ(matches_in(content(folder / "samples"), "\"kind\":\"sample\"").size(), 2u);
}

TEST(BenchPlain, CallsWeftInAThread) {
    const Folder folder;
    std::ofstream(folder / "thread.json") << R"({"name": "thread", "bytes": 4097, "ranks": 3,
        "repetitions": 2, "until": 0, "collective": "all", "cores": "none",
        "progress": "tests:3", "compute": {"for": "20us"},
        "members": [{"implementation": "thread:weft"}, {"engine": "manual"}]})";
    const Finished done =
        expect_success(bench + (folder / "thread.json") + " --json " + (folder / "samples"));
    EXPECT_FALSE(contains(done.out, "Missing")) << done.out;
    EXPECT_EQ(matches_in(content(folder / "samples"), "\"kind\":\"sample\"").size(), 17 * 2 * 2u);
}

TEST(BenchPlain, NamesWhatPlainPlayersCannotDo) {
    const Folder folder;
    std::ofstream(folder / "plain.json") << R"({"name": "plain", "ranks": 3, "cores": "none",
        "bytes": 8, "repetitions": 1, "collective": "iallreduce", "members": [
            {"implementation": "sockets"}, {"implementation": "copy thread:0"}, {}]})";
    const Finished done = run(bench + (folder / "plain.json"));
    EXPECT_TRUE(contains(done.out, "Missing: plain, sockets: it connects 2 ranks; this job has 3"));
    EXPECT_TRUE(contains(done.out, "Missing: plain, copy thread:0: it copies between 2 ranks"));
}

}  // namespace weft::test::bench_against_test
