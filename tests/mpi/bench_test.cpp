// `weft bench ... --against` with real MPIs. No test looks at a measured time: that a job ends with 0
// says that every result was right, the MPI's and Weft's.
#include <fstream>
#include <nlohmann/json.hpp>

#include "mpi/mpis.h"
#include "support/pattern.h"
#include "support/test.h"

namespace weft::test::bench_test {

using Json = nlohmann::json;

class Bench : public OnOneMpi {
  protected:
    Finished bench(const std::string& arguments, const std::string& settings = "") const {
        std::string setting = settings + " WEFT_BENCH_MPI_";
        for (const char* c = mpi().name; *c != '\0'; ++c) {
            setting += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
        }
        return run(setting + "=" + mpi().folder() +
                   " exec timeout -k 2 55 " WEFT_BUILD_DIR "/weft bench " + arguments +
                   " --against " + mpi().name);
    }

    // Measures a scenario. By member: the names of its cells' collectives that have samples. Fails unless nothing is
    // missing and the run is complete.
    std::map<std::string, std::set<std::string>> measured(const std::string& scenario,
                                                          const std::string& options = "",
                                                          const std::string& settings = "") const {
        const std::string file = folder_ / "scenario.json", samples = folder_ / "samples";
        std::ofstream(file) << scenario;
        const Finished job = bench(file + " --json " + samples + " " + options, settings);
        EXPECT_EQ(job.status, 0) << job.out << job.err;
        std::map<std::string, std::set<std::string>> found;
        std::map<int, Json> cells;
        bool is_complete = false;
        std::ifstream lines(samples);
        for (std::string line; std::getline(lines, line);) {
            const Json json = Json::parse(line);
            const std::string kind = json.at("kind");
            EXPECT_NE(kind, "missing") << line;
            if (kind == "run" && json.contains("mpi")) version_ = json.at("mpi");
            if (kind == "cell") cells[json.at("id")] = json;
            if (kind == "end") is_complete = json.at("complete");
            if (kind != "sample") continue;
            const Json& cell = cells.at(json.at("cell"));
            found[cell.at("member")].insert(cell.at("collective"));
        }
        EXPECT_TRUE(is_complete);
        return found;
    }

    const Folder folder_;
    mutable std::string version_;
};
INSTANTIATE_TEST_SUITE_P(Against, Bench, testing::ValuesIn(mpis()), name_of_mpi);

std::set<std::string> all_collectives() {
    return {"iallgather",
            "iallgatherv",
            "iallreduce",
            "ialltoall",
            "ialltoallv",
            "ialltoallw",
            "ibarrier",
            "ibcast",
            "iexscan",
            "igather",
            "igatherv",
            "ireduce",
            "ireduce_scatter",
            "iscan",
            "iscatter",
            "iscatterv",
            "ireduce_scatter_block",
            "isend",
            "iexchange"};
}

TEST_P(Bench, MeasuresEveryCollectiveBesideIt) {
    const auto found = measured(R"({"name": "all", "collective": "all", "bytes": 4097,
        "compute": {"for": "operation"}, "progress": "tests:2", "barrier": "both",
        "repetitions": 1, "until": 0, "budget": "1s",
        "members": [{"implementation": "mpi"}, {"engine": "auto"},
                    {"name": "mpi call", "implementation": "mpi", "call": "blocking"}]})");
    ASSERT_EQ(found.size(), 3u);
    const std::string name = mpi().name;
    for (const std::string& member : {name, std::string("auto"), name + " call"})
        EXPECT_EQ(found.at(member), all_collectives()) << member;
    EXPECT_NE(version_, "");
}

TEST_P(Bench, MeasuresPipelinesByHandAndByItsThread) {
    const auto found = measured(R"({"name": "pipeline", "ranks": 3, "bytes": 100000,
        "compute": {"for": "20us"}, "progress": "until", "repetitions": 2, "until": 0,
        "members": [{"implementation": "mpi:hand", "segment": "16K"},
                    {"implementation": "mpi:thread", "segment": "16K"},
                    {"implementation": "mpi"}, {"engine": "manual"}]})");
    EXPECT_EQ(found.size(), 4u);
}

// Weft's nbc.h stands in for LibNBC, which is not part of this repository.
TEST_P(Bench, MeasuresLibNbcsInterfaceAndBlockingCallsInAThread) {
    const std::string name = mpi().name, installed = folder_ / name;
    std::filesystem::create_directories(installed + "/lib");
    std::filesystem::create_symlink(WEFT_SOURCE_DIR "/compat/nbc", installed + "/include");
    for (const char* library : {"/lib/libnbc.so", "/lib/libweft.so.0"})
        std::filesystem::create_symlink(WEFT_BUILD_DIR "/libweft.so", installed + library);
    const auto found = measured(
        R"([{"name": "nbc", "bytes": "300K", "progress": "tests:2", "repetitions": 1,
             "collective": ["ibarrier", "ibcast", "igather", "igatherv", "iscatter", "iscatterv",
                            "iallgather", "iallgatherv", "ialltoall", "ialltoallv", "ialltoallw",
                            "ireduce", "iallreduce", "ireduce_scatter", "iscan"],
             "members": [{"implementation": "libnbc"}, {"implementation": "nbc:weft"}]},
            {"name": "thread", "bytes": "1M", "progress": "tests:2", "repetitions": 1,
             "collective": ["ibcast", "ialltoallw"], "members": [{"implementation": "thread:mpi"}]}])",
        "", "WEFT_BENCH_LIBNBC=" + (folder_ / ""));
    EXPECT_EQ(found.at(name + " libnbc").size(), 15u);
    EXPECT_EQ(found.at(name + " nbc:weft").size(), 15u);
    EXPECT_EQ(found.at(name + " thread:mpi").size(), 2u);
}

// MPI_X are Weft's, and by their addresses the MPI's own.
TEST_P(Bench, MeasuresAProgramUnderThePreloadedLibrary) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/libweft_mpi.so"))
        GTEST_SKIP() << "this build has no libweft_mpi.so";
    const char* const members =
        R"("compute": {"who": "none"}, "barrier": "both", "repetitions": 2, "until": 0,
           "members": [{"implementation": "mpi"}, {"implementation": "preload"}]})";
    const auto found = measured(
        std::string(R"([{"name": "calls", "collective": ["iallreduce", "nothing:waitall"], )") +
            R"("bytes": "64K", )" + members + R"(, {"name": "blocking", "collective": "ibcast", )" +
            R"("call": "blocking", "bytes": 8, )" + members + "]",
        "");
    const std::set<std::string> all = {"iallreduce", "nothing:waitall", "ibcast"};
    EXPECT_EQ(found.at(mpi().name), all);
    EXPECT_EQ(found.at(std::string(mpi().name) + " preload"), all);
}

TEST_P(Bench, TellsThePreloadedLibraryFromOneThatTakesNothing) {
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/libweft_mpi.so"))
        GTEST_SKIP() << "this build has no libweft_mpi.so";
    const auto taken = [&](const std::string& implementation) {
        std::ofstream(folder_ / "one.json")
            << R"({"name": "one", "collective": "iallreduce", "bytes": 8, "repetitions": 1,)"
            << R"("compute": {"who": "none"}, "members": [{"implementation": ")" << implementation
            << "\"}]}";
        const Finished job = bench(folder_ / "one.json", "WEFT_STATS=1");
        EXPECT_EQ(job.status, 0) << job.out << job.err;
        return !matches_in(job.err, "weft: MPI_Iallreduce +[1-9]").empty();
    };
    EXPECT_TRUE(taken("preload"));
    EXPECT_FALSE(taken("stub"));
}

TEST_P(Bench, MeasuresLogGpOfItsMessages) {
    const Finished job =
        bench("loggp --repetitions 6 --small 1,64 --eager 1K,4K --large 256K,512K --json " +
              (folder_ / "parameters"));
    ASSERT_EQ(job.status, 0) << job.out << job.err;
    EXPECT_TRUE(contains(job.out, "LogGP between 2 ranks over mpi, engine manual: 2 ranks"))
        << job.out;
    EXPECT_TRUE(contains(content(folder_ / "parameters"), "{\"messages\":\"rendezvous\","));
}

TEST_P(Bench, MeasuresBetweenNodes) {
    if (const std::string absence = surroundings("tcp").absence(); !absence.empty()) {
        GTEST_SKIP() << absence;
    }
    if (run(WEFT_BUILD_DIR "/weft run -n 2 --nodes 2 --rate 1gbit true").status != 0) {
        GTEST_SKIP() << "no emulated cluster here";
    }
    const auto found = measured(R"({"name": "nodes", "nodes": 2, "collective": "iallreduce",
        "bytes": "64K", "repetitions": 2, "until": 0,
        "members": [{"implementation": "mpi"}, {"engine": "auto"}]})");
    EXPECT_EQ(found.size(), 2u);
}

TEST_P(Bench, MeasuresItsOwnAsynchronousProgress) {
    if (std::string(mpi().name) == "impi") GTEST_SKIP() << "it aborts now and then with it";
    const auto found = measured(R"({"name": "async", "transport": "tcp", "collective": "ibcast",
        "bytes": 8, "repetitions": 1, "until": 0,
        "members": [{"implementation": "mpi"}, {"engine": "auto"}]})",
                                "--async");
    EXPECT_EQ(found.size(), 1u) << "without Weft beside it";
}

}  // namespace weft::test::bench_test
