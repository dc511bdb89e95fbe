// What `weft bench` promises, tried from outside. No test looks at a measured time: that the
// program ends with 0 says that every result was right.
#include <sched.h>

#include "base/cores.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::bench_commands_test {

const std::string bench = WEFT_BUILD_DIR "/weft bench ";

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) {
        ++found;
    }
    return found;
}

// With one blank for several: how wide a column is depends on what was measured.
std::string squeezed(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c != ' ' || out.empty() || out.back() != ' ') out += c;
    }
    return out;
}

// False in a build without a crypto library.
bool has_tcp() {
    const std::string info = run(WEFT_BUILD_DIR "/weft info").out;
    const std::size_t at = info.find("\ntransports ");
    return info.substr(at, info.find('\n', at + 1) - at).find(" tcp") != info.npos;
}

// False without the privileges, or the kernel, that an emulated cluster needs.
bool has_cluster() {
    return has_tcp() &&
           run(WEFT_BUILD_DIR "/weft run -n 2 --nodes 2 --rate 1gbit true").status == 0;
}

TEST(BenchOverlap, PrintsATableAndASentence) {
    const Finished job = expect_success(bench +
                                        "overlap --collective ibcast --engine manual,thread "
                                        "--sizes 8,64K --repetitions 3");
    EXPECT_TRUE(contains(job.out, "\nibcast\nsize  "));
    EXPECT_EQ(count(job.out, "\n64K "), 2u) << job.out;
    EXPECT_TRUE(contains(job.out, "Without any call during the computation, manual hides "));
    EXPECT_TRUE(contains(job.out, "of one ibcast of 64 KiB behind it"));
    EXPECT_EQ(job.err, "");
}

TEST(BenchOverlap, MeasuresEveryCollectiveAtOddSizesWithTests) {
    const Finished job = expect_success(bench +
                                        "overlap --ranks 3 --bind none --engine manual,thread "
                                        "--sizes 1,7,4097 --repetitions 2 --tests 3");
    for (const char* name : {"\nibarrier\n", "\nibcast\n", "\niallgather\n", "\niallreduce\n"}) {
        EXPECT_TRUE(contains(job.out, name));
    }
    EXPECT_TRUE(contains(job.out, "With 3 calls of weft_test during the computation"));
}

TEST(BenchOverlap, MeasuresWhatIsAskedForByName) {
    const Finished job =
        expect_success(bench +
                       "overlap --ranks 3 --bind none --engine thread --sizes 1,4097 "
                       "--repetitions 2 --collective igather,iscatter,ialltoall,ireduce");
    for (const char* name : {"\nigather\n", "\niscatter\n", "\nialltoall\n", "\nireduce\n"}) {
        EXPECT_TRUE(contains(job.out, name));
    }
}

// Two ranks that something else than `weft run` starts.
Finished by_hand(const std::string& arguments) {
    const Folder folder;
    const std::string rank = " WEFT_RANKS=2 WEFT_STARTUP_DIR=" + (folder / "job") + " " + bench;
    return run("WEFT_RANK=1" + rank + arguments + " & WEFT_RANK=0" + rank + arguments +
               "; zero=$?; wait $! && exit $zero");
}

TEST(BenchOverlap, MeasuresInTheJobOfAnotherLauncher) {
    const Finished job = expect_success(by_hand(
        "overlap --ranks 2 --collective ibcast --engine manual --sizes 64K --repetitions 1"));
    EXPECT_EQ(count(job.out, "Overlap of nonblocking collectives with computation: 2 ranks"), 1u);
    EXPECT_EQ(count(job.out, "\n64K "), 1u) << job.out;
}

TEST(BenchOverlap, RefusesAJobOfAnotherSize) {
    expect_refusal(by_hand("overlap --ranks 3"), 1, "expected 3 ranks; this job has 2\n");
}

TEST(BenchOverlap, RefusesTheAttainableOverlapOfRanksThatAreNotBound) {
    cpu_set_t cores;
    ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    if (CPU_COUNT(&cores) < 2) GTEST_SKIP() << "there is only one core";
    expect_refusal(by_hand("overlap --attainable"), 1,
                   "--attainable needs one core for each rank; this one may ");
}

TEST(BenchOverlap, MeasuresTheSpinningThread) {
    const Finished job =
        expect_success(bench + "overlap --engine thread:poll --sizes 8 --repetitions 1");
    EXPECT_TRUE(contains(job.out, "thread:poll"));
}

TEST(BenchOverlap, MeasuresOneRankAlone) {
    expect_success(bench + "overlap --ranks 1 --sizes 8:512 --repetitions 1");
}

// What all readers begin with: the rows, the table's text, and how near a printed number is.
const std::string reading = R"(
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
output = open(sys.argv[2]).read()
def near(a, b, digit=0, relative=1e-6):
    assert abs(a - b) <= 0.51 * digit + relative * abs(a), (a, b, row)
)";

// What a reader in Python prints of a bench's rows and its table.
std::string read_rows(const char* reader, const Folder& folder, const std::string& rows,
                      const Finished& job, const std::string& more = "") {
    std::ofstream(folder / "reader.py") << reading << reader;
    std::ofstream(folder / "output") << job.out;
    return expect_success("python3 " + (folder / "reader.py") + " '" + rows + "' " +
                          (folder / "output") + " " + more)
        .out;
}

// Reads a file line by line as JSON and prints what identifies each row; fails on the first line
// that is no JSON, lacks what repeats the measurement or says anything else than the table.
const char* const reader = R"(
table = [line.split() for line in output.splitlines() if len(line.split()) == 11]
table = [cells for cells in table if cells[1] in ("manual", "thread")]
assert len(table) == len(rows)
for row, cells in zip(rows, table):
    assert cells[1] == row["engine"]
    for name, cell, digit in (("overlap_percent", cells[8], 1), ("gain", cells[9], 0.01),
                              ("cpu_ms", cells[10], 0.0001)):
        assert abs(row[name] - float(cell)) < 0.51 * digit, (name, cell, row[name])
    if row["bytes"] == 512:
        assert row["engine"] + " hides " + cells[8] + " %" in output
    about = row["circumstances"]
    for name in ("command", "version", "commit", "compiler", "build_type", "processor", "kernel",
                 "bind", "transport"):
        assert isinstance(about[name], str) and about[name], name
    assert isinstance(about["flags"], str) and about["cpus"] >= 1
    assert about["settings"]["WEFT_RESOURCES"] == "shm_ring=1M"
    assert len(about["affinity"]) == about["ranks"] == len(row["samples"]) == 2
    assert all(about["affinity"]), about["affinity"]
    assert row["bench"] == "overlap" and row["repetitions"] == 3 and row["work_iterations"] >= 1
    for rank in row["samples"]:
        assert all(len(values) == 3 for values in rank.values())
        assert set(row["medians"]) | {"cpu_us"} == set(rank), rank
    print(row["collective"], row["bytes"], row["engine"], about["command"])
)";

TEST(BenchOverlap, WritesOneLineOfJsonPerRow) {
    const Folder folder;
    const std::string rows = folder / "the \"rows\"";
    const std::string arguments =
        "--collective ibarrier,iallreduce --engine manual,thread --sizes 8,512 --repetitions 3 "
        "--tests 0 --budget 0.000000 --ranks 2 --bind core --transport auto --json '" +
        rows + "'";
    const Finished job =
        expect_success("WEFT_RESOURCES=shm_ring=1M " + bench + "overlap " + arguments);
    const std::string printed = read_rows(reader, folder, rows, job);
    const Lines expected = {
        "iallreduce 512 manual weft bench overlap " + arguments,
        "iallreduce 512 thread weft bench overlap " + arguments,
        "iallreduce 8 manual weft bench overlap " + arguments,
        "iallreduce 8 thread weft bench overlap " + arguments,
        "ibarrier 0 manual weft bench overlap " + arguments,
        "ibarrier 0 thread weft bench overlap " + arguments,
    };
    EXPECT_EQ(sorted_lines(printed), expected);
}

TEST(BenchOverlap, SaysWhatItsColumnsAre) {
    const Finished job = expect_success(bench + "overlap --collective ibarrier --repetitions 1");
    EXPECT_TRUE(contains(job.out, "overlap = 1 - (total - work) / blocking"));
    EXPECT_TRUE(contains(job.out, "CPU: time of all threads of all ranks in one overlapped run"));
    EXPECT_TRUE(contains(squeezed(job.out), " overlap % gain CPU ms\n"));
}

// What the table says of each row, out of the raw pairs.
const char* const pair_reader = R"(
table = [line.split() for line in output.splitlines() if len(line.split()) == 12]
table = [cells for cells in table if cells[1] in ("manual", "thread")]
assert len(table) == len(rows) == 6
for row, cells in zip(rows, table):
    assert cells[1] == row["engine"]
    pairs = row["pairs"]
    assert len(pairs["overlap_percent"]) == len(pairs["attainable_percent"]) == 9
    differences = sorted(a - b for a, b in zip(*(pairs[name] for name in
                                                 ("overlap_percent", "attainable_percent"))))
    near(statistics.median(pairs["attainable_percent"]), float(cells[9]), 1)
    near(statistics.median(differences), float(cells[10]), 0.1)
    near(differences[1], float(cells[11]), 0.1)
    near(differences[1], row["difference_bound"], 0.01)
    for i in range(9):
        over = {}
        for name in ("blocking_us", "lost_us", "plain_us", "total_us", "work_us"):
            over[name] = max(rank[name][i] for rank in row["samples"])
        assert over["plain_us"] > 0
        blocking = over["blocking_us"]
        near(100 * (1 - over["lost_us"] / blocking), pairs["attainable_percent"][i], 1e-3)
        near(100 * (1 - (over["total_us"] - over["work_us"]) / blocking),
             pairs["overlap_percent"][i], 1e-3)
)";

TEST(BenchOverlap, ComparesPairsWithWhatIsAttainable) {
    const Folder folder;
    const std::string rows = folder / "rows";
    const Finished job =
        expect_success(bench +
                       "overlap --attainable --collective igather,iallreduce,ibarrier "
                       "--engine manual,thread --sizes 4097 --repetitions 9 --json " +
                       rows);
    EXPECT_TRUE(contains(job.out, "attainable = 1 - lost / blocking"));
    EXPECT_TRUE(contains(squeezed(job.out), " overlap % gain attainable % difference bound "));
    EXPECT_TRUE(contains(job.out, "\nUp to 4 KiB the program is late by at most "));
    read_rows(pair_reader, folder, rows, job);
}

TEST(BenchOverlap, RefusesAttainableWhereItMeansNothing) {
    const std::string core = std::to_string(own_cores().front());
    const std::string both_on_one = "--cores " + core + "," + core;
    for (const std::string& options :
         {std::string("--ranks 3"), std::string("--ranks 1"), std::string("--bind none"),
          "--cores " + core, both_on_one}) {
        const Finished job = expect_refusal(bench + "overlap --attainable " + options, 2,
                                            "expected 2 ranks, each bound to a core of its own");
        EXPECT_EQ(job.out, "");
    }
}

// What the table says of a copy thread's row, and of the row behind it.
const char* const copy_reader = R"(
assert [row["engine"] for row in rows] == 2 * len(sys.argv[3].split(",")) * ["copy thread", "thread"]
for copies, thread in zip(rows[::2], rows[1::2]):
    assert copies["bytes"] == thread["bytes"] and copies["collective"] == thread["collective"]
    assert "share_of_copy_thread" not in copies
    if copies["overlap_percent"] > 0:
        share = thread["overlap_percent"] / copies["overlap_percent"]
        assert abs(thread["share_of_copy_thread"] - share) <= 1e-3 * abs(share) + 1e-6
    for row in copies, thread:
        assert row["medians"]["blocking_us"] > 0 and len(row["samples"]) == 2
)";

TEST(BenchOverlap, MeasuresACopyThreadBesideTheEngines) {
    const Folder folder;
    const std::string rows = folder / "rows";
    const std::string collectives = "ibcast,isend,iallgather,ialltoall";
    const Finished job = expect_success(
        bench + "overlap --copy-core " + std::to_string(own_cores().back()) + " --collective " +
        collectives +
        " --engine thread --sizes 1,3000001 --repetitions 2 --tests 2 --bars --json " + rows);
    EXPECT_TRUE(contains(job.out, "copy thread: a plain thread of each rank's, on core "));
    EXPECT_TRUE(contains(squeezed(job.out), " overlap % gain CPU ms of copy "));
    EXPECT_EQ(count(job.out, " met\n") + count(job.out, " missed\n"), 4u) << job.out;
    EXPECT_FALSE(contains(job.out, "copy thread hides")) << "the sentence is about engines";
    read_rows(copy_reader, folder, rows, job, collectives);
}

TEST(BenchOverlap, RefusesACopyThreadWhereItMeansNothing) {
    const auto refused = [](const std::string& options, const std::string& why) {
        const Finished job = expect_refusal(bench + "overlap --copy-core 0 " + options, 2, why);
        EXPECT_EQ(job.out, "");
    };
    refused("--collective ibcast --ranks 3",
            "--ranks 3 --nodes 0; expected 2 ranks of one machine");
    refused("--collective ibcast,iallreduce", "--collective iallreduce; expected ibcast, isend, ");
    refused("--collective ibcast --summary", "--summary or --against; expected none of them");
    expect_failure(bench + "overlap --copy-core 100000 --collective ibcast --sizes 8",
                   "copy thread: core 100000: ");
}

TEST(BenchOverlap, ForcesATransport) {
    const Folder folder;
    expect_success(bench +
                   "overlap --transport shm --collective ibarrier --engine manual "
                   "--repetitions 1 --json " +
                   (folder / "rows"));
    EXPECT_TRUE(contains(content(folder / "rows"), "\"WEFT_TRANSPORT\": \"shm\""));
    EXPECT_TRUE(contains(content(folder / "rows"), "\"transport\": \"shm\""));
    expect_failure(bench + "overlap --transport pigeon", "pigeon not in {auto,shm,tcp,ucx}");
}

TEST(BenchOverlap, SaysWhenItsRowsCannotBeWritten) {
    expect_failure(bench +
                       "overlap --collective ibarrier --engine manual --repetitions 1 "
                       "--json /dev/full",
                   "/dev/full: No space left on device");
}

TEST(BenchOverlap, SaysThatItsTableIsLost) {
    expect_failure(bench +
                       "overlap --collective ibarrier --engine manual --repetitions 1 "
                       "> /dev/full",
                   "weft: output is lost: No space left on device");
}

TEST(BenchOverlap, LeavesOutRepetitionsWhenItsBudgetIsSpent) {
    expect_success(bench +
                   "overlap --collective ibarrier --engine manual --sizes 8 "
                   "--repetitions 100000000 --budget 0.2");
}

TEST(BenchOverlap, RefusesWhatItDoesNotKnow) {
    expect_refusal(bench + "overlap --collective ibroadcast", 2,
                   "collective = \"ibroadcast\"; expected one of ibarrier, ");
    expect_refusal(bench + "overlap --engine magic", 2,
                   "engine = \"magic\"; expected one of manual, ");
    for (const char* seconds : {"nan", "inf", "-1"}) {
        expect_failure(bench + "overlap --budget " + seconds, "'; expected seconds, ");
        EXPECT_NE(run(bench + "idle --late " + seconds).status, 0) << seconds;
    }
    for (const char* sizes : {"''", "0", "8:", "4M:8", "8,,9", "1X", "65G", "-8"}) {
        const Finished size = run(bench + "overlap --sizes=" + sizes);
        EXPECT_NE(size.status, 0) << sizes;
        EXPECT_EQ(size.out, "") << sizes;
    }
}

TEST(BenchBackground, PrintsATableForEachAlgorithm) {
    const Finished job =
        expect_success(bench +
                       "background --nodes 0 --ranks 3 --repetitions 2 --sizes 8,4097 "
                       "--case iallgather:ring,iallgather:bruck,ibcast:chain:segment=512");
    for (const char* title : {"\niallgather ring, over shm\n", "\niallgather bruck, over shm\n",
                              "\nibcast chain:segment=512, over shm\n"}) {
        EXPECT_TRUE(contains(job.out, title));
    }
    EXPECT_EQ(count(job.out, "\n4097 "), 3u) << job.out;
}

TEST(BenchBackground, RefusesWhatItDoesNotKnow) {
    for (const char* one : {"ibcast", "ibcast:", "ibroadcast:chain"}) {
        expect_refusal(bench + "background --nodes 0 --case " + one, 2,
                       one[4] == 's' ? "expected a collective and its algorithm"
                                     : "expected one of ibarrier, ");
    }
    expect_failure(bench + "background --nodes 0 --case ibcast:teleport", "WEFT_ALGORITHM=bcast");
}

TEST(BenchLatency, PrintsARowForEachEngine) {
    const Finished job = expect_success(bench + "latency --transport shm --repetitions 2");
    EXPECT_TRUE(contains(job.out, "of 8 bytes, start + wait, over shm: 2 ranks"));
    EXPECT_EQ(count(job.out, "\nmanual  "), 1u) << job.out;
    EXPECT_EQ(count(job.out, "\nthread  "), 1u) << job.out;
    expect_refusal(bench + "latency --ranks 3", 2, "--ranks 3; expected 2");
}

bool has_two_cores() {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) >= 2;
}

// What the table says of each row, out of the raw samples.
const char* const pipeline_reader = R"(
table = [line.split() for line in output.splitlines() if line.startswith(("100 ", "200000 "))]
assert len(table) == len(rows) == 2 * int(sys.argv[3]), output
own = "a plain dgemm of the bench's own"
wanted = sys.argv[4] if len(sys.argv) > 4 else own
by_hands = {}
for row, cells in zip(rows, table):
    assert row["bench"] == "pipeline" and row["repetitions"] == 6 and row["matrix"] == 8
    assert row["computation"] == (own if row["way"] in ("by hand:own", "fiber:timer") else wanted)
    same = (row["bytes"], row["computation"])
    if row["way"].startswith("by hand"):
        del cells[1]
        by_hands[same] = row
    by_hand = by_hands[same]
    assert cells[0] == str(row["bytes"])
    times = row["samples"]["time_us"]
    assert len(times) == 6 and all(time > 0 for time in times)
    assert all(count >= 1 for count in row["samples"]["computations"])
    pairs = [a / b for a, b in zip(times, by_hand["samples"]["time_us"])]
    near(statistics.median(times), float(cells[2]), 0.1, 1e-5)
    near(statistics.median(pairs), float(cells[3]), 0.001, 1e-5)
    near(100 * statistics.median(row["samples"]["outside"]), float(cells[5]), 0.1, 1e-5)
    near(statistics.median(row["samples"]["computations"]), float(cells[7]), 0.1, 1e-5)
    assert row["circumstances"]["settings"]["WEFT_ALGORITHM"] == "bcast=chain:segment=16K"
)";

const char* const nothing_is_preempted =
    "Left out: fiber:timer: nothing can be preempted under ThreadSanitizer";

TEST(BenchPipeline, PrintsARowForEachWay) {
    const Folder folder;
    for (const int ranks : {2, 3}) {
        const Finished job = run(bench +
                                 "pipeline --sizes 100,200000 --segment 16K --compute own "
                                 "--matrix 8 --repetitions 6 "
                                 "--engine manual,thread,fiber,fiber:timer,fiber:arrival "
                                 "--json " +
                                 (folder / "rows") + " --ranks " + std::to_string(ranks));
        ASSERT_EQ(job.status, 0) << job.err;
        EXPECT_TRUE(
            contains(job.out, "every rank repeats a plain dgemm of the bench's own of 8x8"));
        EXPECT_TRUE(contains(job.out, "\nA broadcast of 200000 bytes by hand takes "));
        const bool has_fibers = !contains(job.out, "Left out: fiber: this build has no fibers");
        const bool preempts = has_fibers && !contains(job.out, nothing_is_preempted);
        EXPECT_EQ(count(squeezed(job.out), "\n200000 fiber "), has_fibers ? 1u : 0u) << job.out;
        EXPECT_EQ(count(squeezed(job.out), "\n200000 fiber:timer "), preempts ? 1u : 0u) << job.out;
        EXPECT_TRUE(contains(job.out, "Left out: fiber:arrival: "));  // over shared memory
        read_rows(pipeline_reader, folder, folder / "rows", job,
                  std::to_string(3 + (has_fibers ? 1 : 0) + (preempts ? 1 : 0)));
    }
}

TEST(BenchPipeline, MeasuresPlainSocketsToo) {
    const Finished job = run(bench +
                             "pipeline --sockets --sizes 100,200000 --compute own --matrix 8 "
                             "--repetitions 2 --engine manual --ranks 2");
    ASSERT_EQ(job.status, 0) << job.err;
    EXPECT_EQ(count(squeezed(job.out), "\n200000 sockets "), 1u) << job.out;
    EXPECT_TRUE(contains(job.out, "; sockets takes ")) << job.out;
}

TEST(BenchPipeline, ComparesWhatIsPreemptedWithTheSameComputation) {
    const Folder folder;
    if (run("echo 'void cblas_dgemm(void) {}' | cc -shared -fPIC -x c - -o " +
            (folder / "libopenblas.so.0"))
            .status != 0)
        GTEST_SKIP() << "there is no compiler cc";
    const Finished job = run("LD_LIBRARY_PATH=" + (folder / "") + " " + bench +
                             "pipeline --sizes 100,200000 --segment 16K --compute auto --matrix 8 "
                             "--repetitions 6 --engine manual,fiber:timer --json " +
                             (folder / "rows"));
    ASSERT_EQ(job.status, 0) << job.err;
    if (contains(job.out, "Left out: fiber:timer: ")) GTEST_SKIP() << "nothing is preempted here";
    EXPECT_TRUE(contains(job.out, "(by hand:own, fiber:timer: a plain dgemm of the bench's own.)"));
    EXPECT_TRUE(contains(job.out, " of the time of by hand:own and "));
    read_rows(pipeline_reader, folder, folder / "rows", job, "4 'dgemm of OpenBLAS'");
}

TEST(BenchPipeline, RefusesWhatItDoesNotKnow) {
    const auto refused = [](const std::string& options) {
        const Finished job = run(bench + "pipeline " + options);
        EXPECT_EQ(job.status, 2) << options;
        return job.err;
    };
    EXPECT_TRUE(
        contains(refused("--engine fibre"), "engine = \"fibre\"; expected one of manual, "));
    EXPECT_TRUE(contains(refused("--ranks 1"), "--ranks 1; expected at least 2"));
    EXPECT_TRUE(contains(refused("--sockets --ranks 3"), "--sockets with --ranks 3; expected 2"));
    EXPECT_TRUE(contains(refused("--segment 8,16"), "segment = \"8,16\"; expected one size"));
    EXPECT_TRUE(contains(refused("--compute mkl"), "expected auto, openblas or own"));
}

// What the table says of each row, out of the raw samples.
const char* const relay_reader = R"(
table = [line.split() for line in output.splitlines() if line.startswith(("8 ", "64K "))]
assert len(table) == len(rows) == int(sys.argv[3]), output
for row, cells in zip(rows, table):
    assert row["bench"] == "relay" and cells[1] == row["engine"] and row["repetitions"] == 3
    assert all(len(sample["latency_us"]) <= 4 for sample in row["samples"])
    latencies = [sample["latency_us"] for sample in row["samples"]]
    taken = [statistics.mean(sample["work_us"]) - sample["work_alone_us"]
             for sample in row["samples"]]
    near(statistics.median(statistics.mean(one) for one in latencies), float(cells[2]), 0.1)
    near(statistics.median(sum(latencies, [])), float(cells[3]), 0.1)
    near(max(sum(latencies, [])), float(cells[5]), 0.1)
    near(statistics.median(taken), float(cells[8]), 0.1)
    if row["engine"] == "thread":
        assert cells[6] == cells[7] == "1.00"
    assert row["circumstances"]["settings"]["WEFT_ALGORITHM"].startswith("bcast=chain:segment=")
    assert len(set(row["circumstances"]["affinity"])) >= 2
)";

TEST(BenchRelay, PrintsARowForEachEngine) {
    if (!has_tcp()) GTEST_SKIP() << "this build has no tcp";
    if (!has_two_cores()) GTEST_SKIP() << "there is only one core";
    const Folder folder;
    for (const char* how : {"", " --pipelined"}) {
        const Finished job = expect_success(bench +
                                            "relay --sizes 8,64K "
                                            "--engine thread,thread:poll,fiber:timer,fiber:arrival "
                                            "--repetitions 3 --relays 4 --json " +
                                            (folder / "rows") + how);
        EXPECT_TRUE(contains(job.out, "computes and makes no call, over tcp: 3 ranks"));
        EXPECT_TRUE(contains(job.out, "\nTo pass 64K bytes through a rank that computes, thread "));
        const bool has_fibers =
            !contains(job.out, "Left out: fiber:timer: this build has no fibers");
        read_rows(relay_reader, folder, folder / "rows", job, has_fibers ? "8" : "4");
    }
}

TEST(BenchRelay, HandsEveryRelayToTheOperatingSystem) {
    if (!contains(run(WEFT_BUILD_DIR "/weft info").out, "\nio_uring              works")) {
        GTEST_SKIP() << "io_uring cannot be used here";
    }
    if (!has_two_cores()) GTEST_SKIP() << "there is only one core";
    const Finished job = expect_success(bench +
                                        "relay --sizes 8,64K --engine thread,kernel,kernel:own "
                                        "--repetitions 2 --relays 3");
    EXPECT_TRUE(contains(job.out, " operations offloaded, 0 not; 0 threads of io_uring"));
    EXPECT_EQ(count(squeezed(job.out), "\n64K kernel"), 2u) << job.out;
}

TEST(BenchRelay, RefusesWhatItDoesNotKnow) {
    expect_refusal(bench + "relay --engine thread:short", 2,
                   "engine = \"thread:short\"; expected one of manual, ");
    expect_refusal(bench + "relay --ranks 2", 2, "--ranks 2; expected 3");
    expect_refusal("taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//') " + bench + "relay",
                   2, "one core; expected at least two");
}

// What the tables say of each row, out of the raw samples.
const char* const waits_reader = R"(
table = [line.split() for line in output.splitlines() if line.startswith(("ibcast ", "igather "))]
assert len(table) == len(rows), output
times = {}
for row, cells in zip(rows, table):
    situation = row["situation"]
    if situation == "test":
        assert cells[2:4] == [str(row["every_us"]), "us"]
        del cells[2:4]
    else:
        assert row["every_us"] == 0
    assert row["bench"] == "waits" and cells[0] == row["collective"]
    assert cells[1] == {8: "8", 65536: "64K"}[row["bytes"]] and cells[2] == row["engine"]
    if situation == "skew":
        near(row["work_us"], float(cells.pop(4)), 0.1)
    samples = row["samples"]
    repetitions = row["repetitions"]
    assert repetitions == len(samples["times_us"]) == len(samples["blocking_us"])
    near(statistics.median(samples["blocking_us"]), float(cells[3]), 0.1)
    middle = statistics.median(samples["times_us"])
    near(middle, float(cells[4]), 0.1)
    assert middle <= row["p90_us"] <= row["p99_us"] <= max(samples["times_us"]) + 1e-3
    near(row["p90_us"], float(cells[5]), 0.1)
    near(row["p99_us"], float(cells[6]), 0.1)
    if situation in ("late", "chain"):
        far = sum(time > 10 * middle for time in samples["times_us"])
        near(100 * far / repetitions, float(cells[7]), 0.1)
        assert "ratio" not in row
    elif row["engine"] == "manual":
        base = samples["times_us"]
        assert len(cells) == 7 and "ratio" not in row
    else:
        pairs = sorted(a / b for a, b in zip(samples["times_us"], base))
        near(statistics.median(pairs), float(cells[7]), 0.001)
        low, high = map(float, cells[8].split("-"))
        near(pairs[0], low, 0.001)
        near(pairs[-1], high, 0.001)
        near(row["ratio"]["low"], low, 0.001)
        near(row["ratio"]["high"], high, 0.001)
    about = row["circumstances"]
    assert about["ranks"] == (4 if situation == "chain" else 2)
    assert about["transport"] == "shm" and "--situation " + situation in about["command"]
    print(situation, row["collective"], row["bytes"], row["engine"], row["every_us"])
)";

// Measures, and returns what identifies each row.
std::string waits_rows(const std::string& arguments, std::string& table) {
    const Folder folder;
    const std::string rows = folder / "rows";
    std::ofstream(rows) << "an older row\n";
    const Finished job = expect_success(bench + "waits " + arguments + " --json " + rows);
    table = job.out;
    return read_rows(waits_reader, folder, rows, job);
}

TEST(BenchWaits, PrintsATableForEachSituation) {
    std::string table;
    const std::string rows = waits_rows(
        "--situation late,test,skew --sizes 8,64K --collective igather --repetitions 6", table);
    for (const char* title : {"\nA late rank: 2 ranks, over shm, 6 repetitions.\n",
                              "\nTests: 2 ranks, over shm, 6 repetitions.\n",
                              "\nSkewed starts: 2 ranks, over shm, 6 repetitions.\n",
                              "\nRanks come 0 to 100 us after a barrier; seed 1.\n"}) {
        EXPECT_TRUE(contains(table, title));
    }
    EXPECT_EQ(count(table, "\nthread by manual: geometric mean of "), 2u) << table;
    EXPECT_TRUE(contains(table, "; above 1.05 beyond the interval: "));
    EXPECT_EQ(count(rows, "\n"), 4u + 12u + 4u) << rows;
    EXPECT_EQ(count(rows, "test igather 65536 thread 20\n"), 1u) << rows;
}

TEST(BenchWaits, MeasuresABroadcastAlongAChain) {
    std::string table;
    EXPECT_EQ(waits_rows("--situation chain --sizes 8 --collective igather --repetitions 1", table),
              "chain ibcast 8 manual 0\nchain ibcast 8 thread 0\n");
    EXPECT_TRUE(contains(table, "\nA chain: 4 ranks, over shm, 1 repetitions.\n"));
}

TEST(BenchWaits, MeasuresSkewWithMoreRanksAndEveryCollective) {
    const Finished job =
        expect_success(bench +
                       "waits --situation skew --ranks 4 --skew-us 0 --seed 7 --sizes 1,4097 "
                       "--collectives ibarrier,ibcast,igather,iallgather,ialltoall,iallreduce "
                       "--engines thread --repetitions 2");
    EXPECT_TRUE(contains(job.out, "\nSkewed starts: 4 ranks, over shm, 2 repetitions.\n"));
    EXPECT_TRUE(contains(job.out, "\nRanks come 0 to 0 us after a barrier; seed 7.\n"));
    EXPECT_EQ(count(squeezed(job.out), " 4097 thread "), 5u) << job.out;
    EXPECT_EQ(count(squeezed(job.out), "\nibarrier - thread "), 1u) << job.out;
}

TEST(BenchWaits, MeasuresInTheJobOfAnotherLauncher) {
    const Finished job = expect_success(
        by_hand("waits --situation late,test --collective ibcast --engine thread --sizes 8 "
                "--repetitions 1"));
    EXPECT_EQ(count(squeezed(job.out), "\nibcast 8 "), 4u) << job.out;
    expect_refusal(by_hand("waits --situation late,chain"), 1,
                   "--situation chain needs 4 ranks; this job has 2\n");
}

TEST(BenchWaits, RefusesWhatItDoesNotKnow) {
    expect_refusal(bench + "waits --situation early", 2,
                   "situation = \"early\"; expected one of late, chain, test, skew\n");
    expect_refusal(bench + "waits --situation chain --collective ibroadcast", 2,
                   "expected one of ibarrier, ");
    expect_refusal(bench + "waits --engine magic", 2,
                   "engine = \"magic\"; expected one of manual, ");
    expect_refusal(bench + "waits --ranks 1", 2, "--ranks 1; expected at least 2");
    expect_refusal(bench + "waits --json /nowhere/rows", 1,
                   "/nowhere/rows: No such file or directory");
    for (const char* options : {"--skew-us -1", "--skew-us 1000001", "--seed x", "--sizes 0",
                                "--repetitions 0", "--transport pigeon"}) {
        const Finished job = run(bench + "waits " + options);
        EXPECT_NE(job.status, 0) << options;
        EXPECT_EQ(job.out, "") << options;
    }
}

TEST(BenchCpu, PrintsARowForEachSizeAndEngine) {
    if (!has_tcp()) GTEST_SKIP() << "this build has no tcp";
    const Finished job =
        expect_success(bench + "cpu --engine manual,thread --sizes 8,4097 --repetitions 2");
    EXPECT_TRUE(contains(job.out, "while the program sleeps, over tcp, and for\nblocking "));
    EXPECT_EQ(count(squeezed(job.out), "\n8 manual "), 1u) << job.out;
    EXPECT_EQ(count(squeezed(job.out), "\n4097 thread "), 1u) << job.out;
    expect_refusal(bench + "cpu --ranks 3", 2, "--ranks 3; expected 2");
}

TEST(BenchTcp, MeasuresOverLoopback) {
    if (!has_tcp()) GTEST_SKIP() << "this build has no tcp";
    const Folder folder;
    const Finished latency = expect_success(bench + "latency --repetitions 2");
    EXPECT_TRUE(contains(latency.out, "of 8 bytes, start + wait, over tcp: 2 ranks"));
    expect_success(bench +
                   "overlap --transport tcp --attainable --sizes 8,64K --engine "
                   "manual,thread --repetitions 3 --json " +
                   (folder / "rows"));
    EXPECT_EQ(count(content(folder / "rows"), "\"transport\": \"tcp\""), 14u);
}

TEST(BenchCluster, MeasuresBetweenNodes) {
    if (!has_cluster()) GTEST_SKIP() << "no emulated cluster here";
    const Folder folder;
    const Finished without_bars =
        expect_success(bench +
                       "overlap --nodes 2 --attainable --collective iallreduce "
                       "--engine thread --sizes 8 --repetitions 5");
    const Finished pairs =
        expect_success(bench +
                       "overlap --nodes 2 --attainable --bars --collective iallreduce "
                       "--engine manual,thread --sizes 8,64K --repetitions 5 --json " +
                       (folder / "pairs"));
    EXPECT_TRUE(contains(pairs.out, "2 ranks on 2 emulated nodes, links of 1gbit"));
    EXPECT_EQ(count(pairs.out, "  met\n") + count(pairs.out, "  missed\n") +
                  count(pairs.out, "  core busy\n"),
              2u)
        << pairs.out;
    EXPECT_EQ(count(content(folder / "pairs"), "\"transport\": \"tcp\""), 4u);
    EXPECT_FALSE(contains(without_bars.out, "  met\n"));
    EXPECT_FALSE(contains(without_bars.out, "  missed\n"));
    expect_success(bench +
                   "overlap --nodes 2 --ranks 4 --collective iallgather --engine "
                   "thread --sizes 4097 --repetitions 2 --json " +
                   (folder / "mixed"));
    EXPECT_TRUE(contains(content(folder / "mixed"), "\"transport\": \"shm+tcp\""));
    const Finished asleep = expect_success(bench +
                                           "background --repetitions 1 --sizes 4097 "
                                           "--case iallgather:bruck,igather:binomial");
    EXPECT_TRUE(contains(asleep.out, "\niallgather bruck, over tcp\n"));
    EXPECT_TRUE(contains(asleep.out, "\nigather binomial, over tcp\n"));
}

TEST(BenchCluster, SaysWhatEachLinkOfANodeCarried) {
    if (!has_cluster()) GTEST_SKIP() << "no emulated cluster here";
    const Folder folder;
    const std::string measured =
        "overlap --nodes 2 --ranks 3 --collective iallgather --engine thread --sizes 64K "
        "--repetitions 2 --json " +
        (folder / "rows");
    const Finished one = expect_success(bench + measured);
    EXPECT_FALSE(contains(one.out, "Sent over each link"));
    const Finished two = expect_success(bench + measured + " --links 2");
    EXPECT_TRUE(contains(two.out, "on 2 emulated nodes, 2 links of 1gbit each"));
    EXPECT_TRUE(contains(two.out, "\nsent, MB  eth0  eth1  less %\nnode 0 "));
    EXPECT_EQ(count(two.out, "\nnode "), 2u) << two.out;
    EXPECT_TRUE(contains(two.out, "\nLargest difference of a node's links: "));
    EXPECT_EQ(two.out.find("  0.00  0.00"), two.out.npos) << "nothing was counted: " << two.out;
    EXPECT_TRUE(contains(content(folder / "rows"), "\"links\": 2"));
    expect_failure(bench + measured + " --links 9", "--links: Value 9 not in range 1 to 8");
}

TEST(BenchIdle, PrintsWhatEachRankBurned) {
    const Finished job = expect_success(bench + "idle --late 0.1 --ranks 3");
    EXPECT_EQ(count(job.out, "  waits  "), 4u) << job.out;
    EXPECT_EQ(count(job.out, "  comes late  "), 2u) << job.out;
    EXPECT_TRUE(contains(job.out, "A waiting rank used at most "));
}

TEST(BenchAgainst, LeavesOutWhatIsNotThereAndSaysHowToGetIt) {
    const Finished unset = run("unset WEFT_BENCH_MPI_MPICH; " + bench +
                               "overlap --against mpich --engine auto --sizes 8");
    EXPECT_EQ(unset.status, 1);
    EXPECT_TRUE(contains(unset.out, "Left out: mpich: WEFT_BENCH_MPI_MPICH is not set; "));
    EXPECT_TRUE(contains(unset.out, "./dev bench --against mpich installs one"));
    const Folder empty;
    for (const char* command : {"overlap", "latency", "dropin", "idle"}) {
        const Finished missing = run("export WEFT_BENCH_MPI_OPENMPI=" + (empty / "") + "; " +
                                     bench + command + " --against openmpi");
        EXPECT_EQ(missing.status, 1);
        EXPECT_TRUE(contains(missing.out, "Left out: openmpi: WEFT_BENCH_MPI_OPENMPI = '"));
        EXPECT_TRUE(contains(missing.out, "' has no bin/mpicc.\n"));
    }
}

TEST(BenchAgainst, SaysWhyAPartCannotBeCompiled) {
    const Folder folder;
    const Finished job = run("mkdir " + (folder / "bin") + "; cd " + (folder / "bin") +
                             "; echo 'echo no compiler here; exit 1' > mpicc; cp mpicc mpiexec; "
                             "chmod +x *; WEFT_BENCH_MPI_IMPI=" +
                             (folder / "") + " " + bench + "idle --against impi --late 0.1");
    EXPECT_EQ(job.status, 1);
    EXPECT_TRUE(contains(job.out, "no compiler here\nLeft out: impi: its mpicc cannot compile "));
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
                         (folder / "") + " exec " + bench + "idle --against impi --late 0.1");
        ASSERT_TRUE(becomes_true([&] { return pid_in(folder / "pid") > 0; }));
        const pid_t ranks = pid_in(folder / "pid");
        kill(job.pid(), number);
        job.finish();
        EXPECT_EQ(job.status, 128 + number) << job.err;
        EXPECT_FALSE(is_alive(ranks));
        EXPECT_TRUE(std::filesystem::is_empty(temporary));
    }
}

TEST(BenchAgainst, RefusesWhatItDoesNotKnow) {
    for (const char* command : {"overlap", "latency", "dropin", "idle"}) {
        expect_refusal(bench + command + " --against lam", 2,
                       "against = \"lam\"; expected some of mpich, openmpi, impi");
    }
    expect_refusal(bench + "overlap --against mpich --nodes 2 --ranks 4", 2,
                   "4 ranks on 2 nodes; expected one rank on each node");
    expect_refusal(bench + "overlap --against mpich --attainable", 2,
                   "--attainable is not measured with --against");
    expect_refusal(bench + "overlap --async", 2, "--async without --against");
}

TEST(BenchDropin, RefusesWhatItDoesNotKnow) {
    expect_refusal(bench + "dropin", 2, "no MPI; name some by --against");
    expect_refusal(bench + "dropin --against mpich --measure bandwidth", 2,
                   "measure = \"bandwidth\"; expected overlap, latency, blocking or calls");
    expect_refusal(bench + "dropin --against mpich --collective iscan", 2,
                   "collective = \"iscan\"; expected some of ibcast,");
    expect_refusal(bench + "dropin --against mpich --sizes 12", 2,
                   "12 bytes; expected a multiple of 8, at most 1G");
}

// The tables' ratios, out of the raw samples.
const char* const dropin_reader = R"(
for row in rows:
    assert row["bench"] == "dropin" and row["circumstances"]["ranks"] == 2
    if row["measure"] in ("calls", "stub"):
        print(row["measure"], row["function"])
        if row["function"] == "MPI_Init":
            assert len(row["with_us"]) == len(row["without_us"]) == 2, row
            continue
        more = [a - b for a, b in zip(row["with_ns"], row["native_ns"])]
        assert len(more) == 4 and row["more_ns"]["low"] is None, row
        near(statistics.median(more), row["more_ns"]["median"])
        continue
    if row["measure"] == "latency":
        pairs = [a / b for a, b in zip(row["with_us"], row["native_us"])]
        assert len(pairs) == 4, row
    else:
        def medians(samples):
            return [statistics.median(samples[i:i + 3]) for i in (0, 3)]
        pairs = [a / b for a, b in zip(medians(row["with"]["total_us"]), medians(row["without"]["total_us"]))]
        hidden = [100 * (1 - (t - w) / b) for w, b, t in
                  zip(row["with"]["work_us"], row["with"]["blocking_us"], row["with"]["total_us"])]
        assert len(hidden) == 6, row
        near(statistics.median(hidden), row["overlap_percent"])
    near(statistics.median(pairs), row["ratio"]["median"])
    print(row["measure"], row["collective"], row["bytes"], row.get("outstanding", "-"))
)";

class BenchDropinOnMpich : public testing::Test {
  protected:
    void SetUp() override {
        const char* const mpis = std::getenv("WEFT_TEST_MPI");
        if (mpis == nullptr) GTEST_SKIP() << "WEFT_TEST_MPI is not set";
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/libweft_mpi.so"))
            GTEST_SKIP() << "no drop-in library";
        const std::string mpi = std::string(mpis) + "/mpich";
        if (!std::filesystem::exists(mpi + "/bin/mpicc")) GTEST_SKIP() << "no MPICH";
        setting = "WEFT_BENCH_MPI_MPICH=" + mpi + " ";
    }
    std::string setting;
};

TEST_F(BenchDropinOnMpich, PrintsTablesAndRowsOfEachMpi) {
    const Folder folder;
    const std::string rows = folder / "rows";
    const Finished job = expect_success(
        setting + bench +
        "dropin --against mpich --collective igather,iallreduce --sizes 64K "
        "--latency-sizes 8,64K --measure overlap,latency,calls --rounds 2 --turns 2 --json " +
        rows);
    EXPECT_TRUE(contains(job.out, "\nOverlap, mpich without and with the library:\n"));
    EXPECT_TRUE(contains(job.out, "\nOverlapped time: geometric mean of 2 ratios "));
    EXPECT_TRUE(contains(job.out, "\nStart + wait: geometric mean of 4 ratios "));
    EXPECT_TRUE(contains(job.out, "\nWaitall of many: geometric mean of 2 ratios "));
    EXPECT_EQ(count(squeezed(job.out), "\n100 x igather 8 "), 1u) << job.out;
    EXPECT_EQ(read_rows(dropin_reader, folder, rows, job),
              "overlap igather 65536 -\noverlap iallreduce 65536 -\n"
              "latency igather 8 1\nlatency igather 8 100\nlatency igather 65536 1\n"
              "latency iallreduce 8 1\nlatency iallreduce 8 100\nlatency iallreduce 65536 1\n"
              "calls MPI_Wait\ncalls MPI_Waitall\ncalls MPI_Test\nstub MPI_Wait\n"
              "stub MPI_Waitall\nstub MPI_Test\ncalls MPI_Init\n");
}

// The verdict, out of the raw samples: 6 of them have their least and their largest for an interval.
const char* const blocking_reader = R"(
faster, slower = {}, {}
for row in rows:
    assert row["bench"] == "dropin" and row["measure"] == "blocking", row
    pairs = [a / b for a, b in zip(row["with_us"], row["native_us"])]
    assert len(pairs) == 6 and "outstanding" not in row, row
    assert abs(statistics.median(pairs) - row["ratio"]["median"]) <= 1e-6 * row["ratio"]["median"], row
    for places, holds in ((faster, max(pairs) < 1), (slower, min(pairs) > 1)):
        places.setdefault(row["collective"], []).append(holds)
    print(row["collective"], row["bytes"])
def where(places):
    words = {(True,): "", (True, True): "", (True, False): " 8K", (False, True): " 64K"}
    return ", ".join(name + words[tuple(holds)] for name, holds in places.items() if any(holds)) or "none"
print("pays for: %s; costs for: %s." % (where(faster), where(slower)))
)";

TEST_F(BenchDropinOnMpich, SaysForWhichBlockingCollectivesItPays) {
    const Folder folder;
    const std::string rows = folder / "rows";
    const Finished job =
        expect_success("WEFT_STATS=1 " + setting + bench +
                       "dropin --against mpich --collective iallreduce,ibcast --measure "
                       "blocking --latency-sizes 64K,8K --rounds 1 --turns 6 --json " +
                       rows);
    EXPECT_TRUE(contains(job.out, "\nBlocking, mpich's own and with the library, in one job:\n"));
    EXPECT_TRUE(contains(job.out, "\nBlocking: geometric mean of 5 ratios "));
    EXPECT_EQ(count(squeezed(job.out), "\nallreduce 64K "), 1u) << job.out;
    // Of each turn's calls the library took half; the others went to the MPI's own functions.
    const std::string printed = squeezed(job.out + job.err);
    EXPECT_EQ(count(printed, "\nweft: MPI_Bcast 504 0 "), 1u) << printed;
    const std::string verdict = read_rows(blocking_reader, folder, rows, job);
    const std::string order =
        "barrier 0\nallreduce 8192\nallreduce 65536\nbcast 8192\nbcast 65536\npays for: ";
    ASSERT_TRUE(verdict.starts_with(order)) << verdict;
    EXPECT_TRUE(contains(
        job.out, "\nBeyond the interval WEFT_BLOCKING=1 " + verdict.substr(order.size() - 10)))
        << verdict << job.out;
}

TEST(BenchMicro, PrintsEveryPart) {
    const Finished job = expect_success(bench + "micro --repetitions 3");
    for (const char* part :
         {"cached start of ibarrier", "cached start of ialltoallw of 8 bytes",
          "start of 8 bytes beside a reduction of 64 MiB", "building barrier dissemination",
          "building allreduce recursive_doubling", "reducing sum of float64"}) {
        EXPECT_TRUE(contains(job.out, part));
    }
    EXPECT_FALSE(contains(job.out, " met"));
    EXPECT_FALSE(contains(job.out, " missed"));
    const Finished judged = expect_success(bench + "micro --repetitions 3 --bars");
    EXPECT_GT(count(judged.out, "  met\n") + count(judged.out, "  missed\n"), 0u) << judged.out;
}

// The rows of a summary, each split into words.
std::vector<std::vector<std::string>> summary_rows(const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream stream(line);
        std::vector<std::string> words;
        for (std::string word; stream >> word;) words.push_back(word);
        if (!words.empty() && words[0].starts_with("ib")) rows.push_back(words);
    }
    return rows;
}

TEST(BenchSummary, HasOneTableAndWhatItSays) {
    const Finished job =
        expect_success(bench +
                       "overlap --summary --collective ibarrier,ibcast --sizes 64K,256K "
                       "--engine manual,thread --repetitions 5");
    EXPECT_TRUE(
        contains(squeezed(job.out), "collective size no overlap thread ideal hidden % possible %"));
    const auto rows = summary_rows(job.out);
    ASSERT_EQ(rows.size(), 3u) << job.out;
    for (const auto& row : rows) {
        ASSERT_GE(row.size(), 7u) << job.out;
        const double apart = std::stod(row[2]);
        const double thread = std::stod(row[3]);
        const double ideal = std::stod(row[4]);
        EXPECT_LE(ideal, apart);
        if (row[0] == "ibarrier") continue;  // shorter than the table's digits
        const double hidden = 100 * (apart - thread) / (apart - ideal);
        const double digits = (0.2 + 0.003 * std::abs(hidden)) / (apart - ideal);
        EXPECT_NEAR(std::stod(row[5]), hidden, 0.51 + digits) << job.out;
        EXPECT_EQ(row[6], "-") << "not measured";
    }
    EXPECT_EQ(count(job.out, "\nConclusion: "), 1u) << job.out;
    EXPECT_EQ(count(job.out, "\nThe machine was "), 1u) << job.out;
    expect_refusal(bench + "overlap --summary --against mpich", 2,
                   "--summary is not for --against");
}

TEST(BenchAll, IsShortUnlessAskedForMore) {
    const Folder folder;
    const std::string rows = folder / "rows";
    const Finished job = expect_success(
        bench + "all --collective ibcast --sizes 64K --repetitions 2 --json " + rows);
    EXPECT_LE(count(job.out, "\n"), 20u) << job.out;
    EXPECT_TRUE(contains(job.out, "Within this machine: 2 ranks"));
    EXPECT_TRUE(contains(job.out, "Details: every measurement is in " + rows));
    EXPECT_FALSE(contains(job.out, "relay"));
    EXPECT_EQ(count(content(rows), "\"bench\": \"overlap\""),
              1 + count(content(rows), "\"engine\": \"thread\"") +
                  count(content(rows), "\"engine\": \"kernel\""));
    if (!has_cluster()) return;
    EXPECT_TRUE(contains(job.out, "Emulated cluster: 2 ranks on 2 emulated nodes"));
    EXPECT_EQ(summary_rows(job.out).size(), 2u) << job.out;
    EXPECT_TRUE(contains(content(rows + ".cluster"), "\"attainable_percent\""));
}

}  // namespace weft::test::bench_commands_test
