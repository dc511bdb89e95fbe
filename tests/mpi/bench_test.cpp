// `weft bench ... --against` with real MPIs. No test looks at a measured time: that a job ends with 0
// says that every result was right, the MPI's and Weft's.
#include "mpi/mpis.h"

#include "support/test.h"

namespace weft::test::bench_test {

class Bench : public OnEveryMpi {
  protected:
    static Finished bench(const std::string& arguments, const std::string& settings = "") {
        std::string setting = settings + " WEFT_BENCH_MPI_";
        for (const char* c = mpi().name; *c != '\0'; ++c) {
            setting += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
        }
        return run(setting + "=" + mpi().folder() +
                   " exec timeout -k 2 55 " WEFT_BUILD_DIR "/weft bench " + arguments +
                   " --against " + mpi().name);
    }
};
INSTANTIATE_TEST_SUITE_P(Against, Bench, testing::ValuesIn(mpis()), name_of_mpi);

// Reads every line as JSON: of each point the MPI's row, then Weft's with the ratios of the pairs.
const char* const reader = R"(
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) % 2 == 0
for mpi, weft in zip(rows[::2], rows[1::2]):
    assert mpi["engine"] == mpi["mpi"] == weft["mpi"] == sys.argv[2] and weft["engine"] == "auto"
    assert (mpi["collective"], mpi["bytes"]) == (weft["collective"], weft["bytes"])
    assert mpi["work_iterations"] == weft["work_iterations"]
    assert mpi["circumstances"]["mpi"] and "ratios" not in mpi
    affinity = mpi["circumstances"]["affinity"]
    assert len(affinity) == 2 and all(cores.isdigit() for cores in affinity), affinity
    def slowest(row, field):
        return [max(values) for values in zip(*(rank[field] for rank in row["samples"]))]
    for name, ours, theirs in (("blocking", "blocking_us", "blocking_us"),
                               ("blocking_by_call", "blocking_us", "call_us")):
        pairs = sorted(a / b for a, b in zip(slowest(weft, ours), slowest(mpi, theirs)))
        ratio = weft["ratios"][name]
        assert abs(ratio["median"] / statistics.median(pairs) - 1) < 1e-4, (name, ratio, pairs)
        assert abs(ratio["low"] / pairs[0] - 1) < 1e-4 and abs(ratio["high"] / pairs[-1] - 1) < 1e-4
print(*sorted({row["collective"] for row in rows}))
)";

TEST_P(Bench, MeasuresEveryCollectiveBesideIt) {
    const Folder folder;
    const Finished job = bench(
        "overlap --engine auto --sizes 8,4097 --repetitions 6 --tests 2 --collective "
        "ibarrier,ibcast,igather,iscatter,iallgather,ialltoall,ireduce,iallreduce,isend "
        "--json " +
        (folder / "rows"));
    ASSERT_EQ(job.status, 0) << job.out << job.err;
    EXPECT_TRUE(contains(job.out, std::string("\nBeside ") + mpi().name + ": "));
    EXPECT_TRUE(contains(job.out, "\nStart + wait: geometric mean of 17 ratios "));
    std::ofstream(folder / "reader.py") << reader;
    const Finished read =
        run("python3 " + (folder / "reader.py") + " " + (folder / "rows") + " " + mpi().name);
    EXPECT_EQ(read.out,
              "iallgather iallreduce ialltoall ibarrier ibcast igather ireduce iscatter isend\n")
        << read.err;
    const Finished tables =
        expect_success("python3 " WEFT_SOURCE_DIR "/bench/rivals/tables.py " + (folder / "rows"));
    EXPECT_TRUE(contains(tables.out, "\n| iallreduce 8 B | "));
}

TEST_P(Bench, MeasuresLatencyAndWaiting) {
    const Finished latency = expect_success(bench("latency --transport tcp --repetitions 1"));
    EXPECT_TRUE(contains(latency.out, "\niallreduce"));
    EXPECT_TRUE(contains(latency.out, ", Weft over tcp: "));
    const Finished idle = expect_success(bench("idle --ranks 2 --late 0.1"));
    EXPECT_TRUE(contains(idle.out, std::string("\n") + mpi().name + " "));
}

TEST_P(Bench, MeasuresPipelinesByHandAndByItsThread) {
    const Finished job = expect_success(
        bench("pipeline --ranks 3 --sizes 1000,100000 --segment 16K --matrix 8 --repetitions 1 "
              "--engine manual,thread"));
    for (const char* way : {" by hand ", " ibcast ", " pthread "})
        EXPECT_TRUE(contains(job.out, mpi().name + std::string(way)));
    EXPECT_TRUE(contains(job.out, "to pipelining by hand over that MPI"));
}

// An MPI is started for one thread there: what needs more is left out by name.
TEST_P(Bench, MeasuresWaitingOverItsMessages) {
    const Finished idle = expect_success(
        bench("idle --ranks 2 --late 0.1 --engine manual,thread", "WEFT_TRANSPORT=mpi"));
    EXPECT_TRUE(contains(idle.out, "Left out: engine thread: "));
    EXPECT_TRUE(contains(idle.out, "\nmanual "));
    EXPECT_FALSE(contains(idle.out, "\nthread "));
}

TEST_P(Bench, MeasuresLogGpOfItsMessages) {
    const Folder folder;
    const Finished job =
        bench("loggp --repetitions 6 --small 1,64 --eager 1K,4K --large 256K,512K --json " +
              (folder / "parameters"));
    ASSERT_EQ(job.status, 0) << job.out << job.err;
    EXPECT_TRUE(contains(job.out, "LogGP between 2 ranks over mpi, engine manual: 2 ranks"))
        << job.out;
    EXPECT_TRUE(contains(content(folder / "parameters"), "{\"messages\": \"rendezvous\", "));
}

TEST_P(Bench, MeasuresBetweenNodes) {
    if (const std::string absence = surroundings("tcp").absence(); !absence.empty()) {
        GTEST_SKIP() << absence;
    }
    if (run(WEFT_BUILD_DIR "/weft run -n 2 --nodes 2 --rate 1gbit true").status != 0) {
        GTEST_SKIP() << "no emulated cluster here";
    }
    const Finished job = expect_success(
        bench("overlap --nodes 2 --sizes 64K --repetitions 2 --collective iallreduce"));
    EXPECT_TRUE(contains(job.out, "2 ranks on 2 emulated nodes, links of 1gbit"));
    EXPECT_TRUE(contains(job.out, "\n64K "));
}

TEST_P(Bench, MeasuresItsOwnAsynchronousProgress) {
    if (std::string(mpi().name) == "impi") GTEST_SKIP() << "it aborts now and then with it";
    const Finished job = expect_success(
        bench("overlap --async --transport tcp --sizes 8 --repetitions 1 --collective ibcast"));
    EXPECT_TRUE(contains(job.out, std::string("\nBeside ") + mpi().name + ":async: "));
}

}  // namespace weft::test::bench_test
