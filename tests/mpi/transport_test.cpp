// The mpi transport on real MPIs: what the conformance tests ask of every transport, all messages over
// the MPI's. Ranks of one thread (engine manual) ask for MPI_THREAD_FUNNELED, others for MULTIPLE.
#include "mpi/mpis.h"
#include "support/in_turn.h"
#include "support/random/program.h"
#include "support/random/settings.h"
#include "support/test.h"
#include "support/tori.h"

namespace weft::test::transport_test {

class OverMpi : public testing::TestWithParam<std::tuple<Mpi, const char*>> {
  protected:
    void SetUp() override {
        if (const std::string absence = mpi().absence(); !absence.empty()) GTEST_SKIP() << absence;
        if (!is_its_turn(2)) GTEST_SKIP() << not_its_turn;
    }
    static const Mpi& mpi() { return std::get<0>(GetParam()); }
    static std::string engine() { return std::get<1>(GetParam()); }

    static void expect(int ranks, const std::string& program, const std::string& settings = "") {
        expect_at(engine() == "manual" ? "funneled" : "multiple", ranks, program, settings);
    }
    static void expect_at(const std::string& level, int ranks, const std::string& program,
                          const std::string& settings) {
        expect_success(mpi().job(
            ranks,
            "LD_PRELOAD=" + mpi().preloaded() + " " WEFT_BUILD_DIR "/tests/conformance/" + program,
            "WEFT_TRANSPORT=mpi MPI_LEVEL=" + level + " " + settings));
    }
    // Outside of a run of all tests with 3 ranks only.
    static std::vector<int> some_ranks() {
        return runs_all() ? std::vector<int>{2, 3, 4} : std::vector<int>{3};
    }
    // Of two, outside of a run of all tests one takes its turn, the other with the other engine, and on the other MPI.
    static bool has_turn(std::size_t number) {
        const std::size_t turn =
            test_turn() + (engine() == "manual" ? 0 : 1) + (mpi().is_openmpi() ? 1 : 0);
        return runs_all() || (number + turn) % 2 == 0;
    }
    static void expect_comms(const std::string& names, const std::string& settings = "") {
        for (int ranks : some_ranks()) {
            expect(ranks, "comms_program " + engine() + " " + names, settings);
        }
    }
};
INSTANTIATE_TEST_SUITE_P(
    On, OverMpi, testing::Combine(testing::ValuesIn(mpis()), testing::Values("manual", "thread")),
    [](const auto& test) {
        return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param);
    });

TEST_P(OverMpi, AllCollectivesOfAllCommunicatorsRun) {
    constexpr int even_ones[] = {2, 4};
    expect(3, "comms_program " + engine() + " all_collectives");
    for (std::size_t n = 0; n < std::size(even_ones); ++n)
        if (has_turn(n)) expect(even_ones[n], "comms_program " + engine() + " all_collectives");
}
// As between nodes.
TEST_P(OverMpi, MpichCarriesThemOverItsNetwork) {
    if (mpi().name != std::string("mpich"))
        GTEST_SKIP() << "other MPIs name their networks otherwise";
    if (run("hostname -I | wc -w").out == "1\n")
        GTEST_SKIP() << "UCX needs a network interface other than lo";
    for (int ranks : some_ranks()) {
        expect(ranks, "comms_program " + engine() + " all_collectives",
               "MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self");
    }
}
TEST_P(OverMpi, CommunicatorsAreMadeAndFreed) {
    expect_comms("splits frees interleaved ahead refused");
}
TEST_P(OverMpi, EitherProtocolCarriesAllCollectives) {
    constexpr const char* bytes[] = {"0", "1G"};
    for (std::size_t n = 0; n < std::size(bytes); ++n)
        if (has_turn(n))
            expect_comms("all_collectives", std::string("WEFT_RENDEZVOUS=") + bytes[n]);
}

// Outside of a run of all tests one number of ranks takes its turn, another with the other engine.
TEST_P(OverMpi, AllAlgorithmsGiveTheirResults) {
    constexpr int numbers[] = {2, 3, 5, 7, 8};
    const std::size_t turn = test_turn() + (engine() == "manual" ? 0 : 1);
    for (std::size_t n = 0; n < std::size(numbers); ++n) {
        if (!runs_all() && n != turn % std::size(numbers)) continue;
        const int ranks = numbers[n];
        const Torus torus(squarest_torus(ranks));
        expect(ranks,
               "comms_program " + engine() + " with_settings" +
                   all_in_turn({.ranks = ranks, .torus = &torus}),
               "WEFT_TOPOLOGY=torus:" + to_text(torus.sizes()));
    }
}

TEST_P(OverMpi, ReproducibleReductionsGiveTheBitsOfTheReference) {
    for (int ranks : some_ranks())
        expect(ranks, "reproducible_program", "WEFT_REPRODUCIBLE=1 WEFT_ENGINE=" + engine());
}

TEST_P(OverMpi, RandomProgramsGiveWhatTheyMust) {
    const int programs = runs_all() ? 12 : 1;
    for (int ranks : {2, 3, 4}) {
        for (int i = 0; i < programs; ++i) {
            random::Case c;
            c.transport = "mpi";
            c.ranks = ranks;
            c.seed = static_cast<std::uint64_t>(1 + i) * 16 + static_cast<std::uint64_t>(ranks);
            c.operations = 120;
            // It begins with this engine, and changes it.
            expect_at("multiple", ranks, "random_program '" + c.text() + "' 25",
                      random::Settings::of(c).environment() + " WEFT_ENGINE=" + engine());
        }
    }
}

// All in the thread that has started the MPI.
TEST_P(OverMpi, FibersWaitEachForItself) {
    if (engine() != "manual") GTEST_SKIP() << "once is enough";
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/tests/conformance/fibers_program"))
        GTEST_SKIP() << "this build has no fibers";
    const auto expect_funneled = [](int ranks, const std::string& program) {
        expect_at("funneled", ranks, program,
                  "WEFT_ENGINE=fiber WEFT_TEST_ONE_THREAD=1 WEFT_TEST_IN_FIBERS=1");
    };
    std::vector<std::string> programs = {
        "fibers_program communicators", "fibers_program shared",
        "fibers_program priority",      "fibers_program wait_long 100 1",
        "fibers_program ends_of_waits", "fibers_program schedules 8",
        "fibers_program relay",         "fibers_program schedules_of_a_broken_group",
        "fibers_program random 1",      "fibers_program random_beside_computation 9",
        "schedule_program fiber calls", "comms_program fiber all_collectives splits",
    };
    if (runs_all()) {
        for (int seed = 11; seed <= 100; seed += 10)
            programs.push_back("fibers_program random " + std::to_string(seed));
        for (const char* name : {"frees", "interleaved", "ahead", "settings", "topologies"})
            programs.push_back(std::string("comms_program fiber ") + name);
        for (const char* name : {"lifetimes", "binomial_bcast", "pipeline", "flaws"})
            programs.push_back(std::string("schedule_program fiber ") + name);
    }
    for (std::size_t n = 0; n < programs.size(); ++n) {
        if (!has_turn(n)) continue;
        for (int ranks : some_ranks()) expect_funneled(ranks, programs[n]);
    }
    expect_funneled(2, "request_program");
    // The programs change to engines with threads.
    for (int ranks : some_ranks())
        expect_at("multiple", ranks, "fibers_program random 1", "WEFT_ENGINE=fiber");
}

}  // namespace weft::test::transport_test
