// The applications: small problems on every back end and transport, of which each run verifies its own result. A seeded
// tenth of all combinations is tried in turn (WEFT_TEST_TURN), all of them in a run of all tests.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/random.h"
#include "dropin/preload.h"
#include "mpi/mpis.h"
#include "support/test.h"

namespace weft::test::apps_test {

struct App {
    const char* name;
    // Options, one list of which a run takes in turn.
    std::vector<const char*> options;
    // The collective whose spoiled result the check must notice, with the first of these options and 2 ranks.
    int spoiled;

    std::string program() const { return WEFT_BUILD_DIR "/apps/" + std::string(name); }
};

void PrintTo(const App& app, std::ostream* out) { *out << app.name; }

const std::vector<App>& apps() {
    static const std::vector<App> all = {
        {"cg",
         {"--x 9 --y 8 --z 7 --tests 3", "--x 16 --y 3 --z 2 --matrix csr --halo alltoallv",
          "--x 8 --y 8 --z 8 --pipelined 1 --tests 2",
          "--x 5 --y 6 --z 9 --pipelined 1 --matrix csr --halo alltoallv",
          "--x 1 --y 1 --z 1 --matrix csr"},
         2},
        {"compression",
         {"--mib 0.2 --block 16 --library zlib --tests 1",
          "--mib 0.1 --block 16 --library bzip2 --data text --gather fixed",
          "--mib 0.1 --block 5 --window 1 --library bzip2",
          "--mib 0.2 --block 16 --window 9 --library zlib --level 1 --strategy huffman --data text "
          "--gather fixed",
          "--mib 0.2 --block 3000 --library zlib --level 0 --strategy rle",
          "--mib 0.2 --block 16 --library zlib --level 1 --at-once"},
         2},
        {"training",
         {"--inputs 30 --width 33 --layers 3 --rows 5 --bucket 1 --tests 5",
          "--inputs 40 --width 16 --layers 3 --rows 4 --classes 3 --bucket 1 --early 40",
          "--inputs 40 --width 24 --layers 5 --rows 3 --bucket 1000 --tests 40 --early 0",
          "--inputs 8 --width 8 --layers 1 --rows 9 --classes 2 --bucket 1"},
         1},
        {"fft",
         {"--size 24 --planes-per-message 3 --tests 3",
          "--size 12 --decomposition pencil --planes-per-message 2 --window 1 --tests 1",
          "--size 24 --ny 12 --nz 36 --decomposition pencil --window 0",
          "--size 36 --ny 24 --nz 12 --planes-per-message 1 --window 4 --late 60",
          "--size 24 --nz 12 --ny 36 --planes-per-message 2 --late 0",
          "--size 12 --decomposition pencil --planes-per-message 1 --late 100 --tests 2"},
         1},
        {"radix_sort",
         {"--keys 1000 --radix-bits 8 --tests 3", "--keys 300 --radix-bits 11 --blocks 3 --tests 1",
          "--keys 5 --radix-bits 2 --blocks 9", "--keys 70 --radix-bits 3 --blocks 7",
          "--keys 4096 --radix-bits 16 --blocks 1"},
         2},
        {"elimination",
         {"--size 101 --block 7 --tests 3", "--size 30 --block 64", "--size 1",
          "--size 64 --block 1", "--size 17 --block 3 --tests 100"},
         1},
    };
    return all;
}

// --- Where and how they run ------------------------------------------------------------------------

// A job: a back end, and what starts the ranks.
struct Way {
    std::string backend;
    std::string transport;  // shm, tcp, mpi; preload: an MPI under weft preload
    const Mpi* mpi;         // null: `weft run` starts the ranks
    int ranks;
};

std::vector<Way> all_ways() {
    static const std::vector<Mpi> all_mpis = mpis();
    std::vector<Way> all;
    for (int ranks = 1; ranks <= 4; ++ranks) {
        for (const std::string blocking : {"", "-blocking"}) {
            for (const char* transport : {"shm", "tcp"})
                all.push_back({"weft" + blocking, transport, nullptr, ranks});
            for (const Mpi& mpi : all_mpis) {
                all.push_back({"weft" + blocking, "mpi", &mpi, ranks});
                if (blocking.empty()) all.push_back({"mpi", "preload", &mpi, ranks});
                for (const char* transport : {"shm", "tcp"})
                    all.push_back({"mpi" + blocking, transport, &mpi, ranks});
            }
        }
    }
    return all;
}

// The MPI's part, compiled once, and again after a change of its source.
std::string part_of(const Mpi& mpi) {
    namespace fs = std::filesystem;
    const std::string source = WEFT_SOURCE_DIR "/apps/common/mpi_part.c";
    const std::string folder = WEFT_BUILD_DIR "/tests/apps";
    const std::string part = folder + "/mpi-" + mpi.name + ".so";
    const auto is_newer = [&](const char* file) {
        return fs::last_write_time(part) >
               fs::last_write_time(WEFT_SOURCE_DIR "/apps/common/" + std::string(file));
    };
    if (fs::exists(part) && is_newer("mpi_part.c") && is_newer("backend.h")) return part;
    const std::string own = part + "." + std::to_string(getpid());  // tests run side by side
    expect_success(
        mpi.around("mpicc -std=c99 -Wall -Wextra -Werror -O1 -shared -fPIC "
                   "-I" WEFT_SOURCE_DIR "/include " +
                   source + " -o " + own));
    fs::rename(own, part);
    return part;
}

// What makes an MPI use TCP on this machine.
std::string over_tcp(const std::string& mpi) {
    if (mpi == "openmpi")
        return "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo";
    if (mpi == "impi") return "I_MPI_FABRICS=ofi FI_PROVIDER=tcp I_MPI_COLL_INTRANODE=pt2pt";
    return "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp";
}

// (`options` may override what comes before.)
std::string command(const App& app, const Way& way, const std::string& options) {
    std::string program = app.program() + " --warm-ups 0 --backend " + way.backend;
    if (way.mpi == nullptr) {
        Surroundings::Job job{way.ranks, "apps/" + std::string(app.name) +
                                             " --warm-ups 0 --backend " + way.backend + " " +
                                             options};
        return surroundings(way.transport).command(job);
    }
    if (way.transport == "mpi") {
        return way.mpi->job(way.ranks,
                            "LD_PRELOAD=" + way.mpi->preloaded() + " " + program + " " + options,
                            "WEFT_TRANSPORT=mpi MPI_LEVEL=multiple");
    }
    program += " --mpi " + part_of(*way.mpi);
    const std::string env = way.transport == "tcp"       ? over_tcp(way.mpi->name)
                            : way.transport == "preload" ? preload_of(way.mpi->name).settings
                                                         : "";
    return way.mpi->job(way.ranks, program + " " + options, env);
}

std::string absence_of(const Way& way) {
    if (way.mpi != nullptr) {
        const std::string absence = way.mpi->absence();
        return absence.empty() && way.transport == "preload" ? preload_of(way.mpi->name).absence
                                                             : absence;
    }
    const auto& places = surroundings();
    const auto place = std::ranges::find(places, way.transport, &Surroundings::name);
    return place == places.end() ? "this build has no " + way.transport : place->absence();
}

class Apps : public testing::TestWithParam<App> {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(GetParam().program()))
            GTEST_SKIP() << "this build has no application " << GetParam().name;
    }
};
INSTANTIATE_TEST_SUITE_P(Of, Apps, testing::ValuesIn(apps()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Apps, GiveTheirResultsEverywhere) {
    std::vector<Way> ways = all_ways();
    // Every way is in one of ten parts, another one for each application.
    Prng order(static_cast<std::uint64_t>(GetParam().name[0]));
    for (std::size_t i = ways.size(); i > 1; --i) std::swap(ways[i - 1], ways[order.below(i)]);
    int runs = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const Way& way = ways[i];
        if (!runs_all() && i % 10 != test_turn() % 10) continue;
        if (!absence_of(way).empty()) continue;
        const auto& options = GetParam().options;
        const std::string seed = " --seed " + std::to_string(i + 1);
        const Finished done = expect_success(
            command(GetParam(), way, options[(i + test_turn() / 10) % options.size()] + seed));
        EXPECT_NE(done.out.find(way.backend + ", " + std::to_string(way.ranks) + " rank"),
                  std::string::npos)
            << done.command << "\n"
            << done.out;
        ++runs;
    }
    if (runs == 0) GTEST_SKIP() << "no MPI and no transport of this turn is here";
}

// The check of each application finds a wrong result, and its rank says so.
TEST_P(Apps, NoticeAWrongResult) {
    for (const char* backend : {"weft", "weft-blocking"}) {
        expect_failure(run(command(GetParam(), {backend, "shm", nullptr, 2},
                                   GetParam().options[0] +
                                       (" --spoil " + std::to_string(GetParam().spoiled)))),
                       std::string(GetParam().name) + ": rank ");
    }
}

TEST_P(Apps, FindOptionsAndRunWithThem) {
    const Finished done = expect_success(command(GetParam(), {"weft", "shm", nullptr, 2},
                                                 GetParam().options[0] + std::string(" --tune")));
    const std::size_t chosen = done.out.find("\nchosen: ");
    ASSERT_NE(chosen, std::string::npos) << done.out;
    EXPECT_NE(done.out.find(" --tests ", chosen), std::string::npos) << done.out;
}

TEST_P(Apps, WriteSamplesThatTheReportReads) {
    const Folder folder;
    const std::string file = folder / "samples";
    expect_success(command(GetParam(), {"weft", "shm", nullptr, 2},
                           GetParam().options[0] + (" --repetitions 2 --profile --json " + file)));
    std::ifstream lines(file);
    std::vector<nlohmann::json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(found.size(), 5u) << "run, cell, two samples, end";
    EXPECT_EQ(found[0].at("kind"), "run");
    EXPECT_EQ(found[1].at("columns").size(), 5u);
    for (const std::size_t at : {2u, 3u}) {
        ASSERT_EQ(found[at].at("ranks").size(), 2u);
        const std::vector<double> times = found[at].at("ranks")[0];
        const double parts = std::accumulate(times.begin() + 1, times.end(), 0.0);
        EXPECT_NEAR(times[0], parts, 0.01) << "the total is the sum of its parts";
        double of_phases = 0;
        for (const nlohmann::json& phase : found[at].at("phases")) {
            ASSERT_EQ(phase.at("ranks").size(), 2u) << phase;
            EXPECT_TRUE(phase.at("hides").is_boolean());
            of_phases += phase.at("ranks")[0][0].get<double>();
        }
        EXPECT_NEAR(times[0], of_phases, 0.1) << "and of its phases";
    }
    EXPECT_EQ(found[4].at("complete"), true);
}

TEST_P(Apps, SayWhatTheyCanDoAndRefuseTheRest) {
    const Finished help = expect_success(run(GetParam().program() + " --help"));
    for (const char* option : {"--backend", "--seed", "--tests", "--json", "--tune"})
        EXPECT_TRUE(contains(help.out, option));
    expect_failure(run(GetParam().program() + " --backend other"), "other");
    expect_refusal(run(GetParam().program() + " --backend mpi --mpi none"), 1, "mpicc");
}

}  // namespace weft::test::apps_test
