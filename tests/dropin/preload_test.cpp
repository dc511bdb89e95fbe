// The effect of the preloaded library on processes: on programs that do not need it, that fail, that fork; and the
// output of `weft preload`.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "dropin/preload.h"
#include "dropin/statistics.h"
#include "mpi/mpis.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/surroundings.h"

namespace weft::test::preload_test {

class Preloaded : public OnEveryMpi {
  protected:
    void SetUp() override {
        std::string absence = mpi().absence_of_itself();
        if (absence.empty()) absence = preload_of(mpi().name).absence;
        if (!absence.empty()) GTEST_SKIP() << absence;
        if (!is_its_turn(2)) GTEST_SKIP() << not_its_turn;
    }

    static std::string compiled(const std::string& source, const std::string& output,
                                const std::string& compiler = "mpicc") {
        const std::string from = WEFT_SOURCE_DIR "/tests/dropin/programs/" + source;
        return made_once(
            WEFT_BUILD_DIR "/tests/dropin/" + std::string(mpi().name) + "/" + output, {from},
            [&](const std::string& path) {
                expect_success(mpi().around(compiler +
                                            " -std=c99 -pedantic -Wall -Wextra -Werror "
                                            "-D_POSIX_C_SOURCE=200809L -Wno-stringop-overflow " +
                                            from + " -o " + path + " -ldl"));
            });
    }
    static std::string program(const std::string& name = "small") {
        return compiled(name + ".c", name);
    }
    static Finished alone(const std::string& what, const std::string& settings = "",
                          int ranks = 2) {
        return run(mpi().job(ranks, program() + " " + what, settings));
    }
    static Finished with_weft(const std::string& what, const std::string& settings = "",
                              int ranks = 2) {
        return alone(what, preload_of(mpi().name).settings + " " + settings, ranks);
    }
    // Whether the MPI calls Weft from inside its own blocking calls.
    static bool has_hook() { return has_progress_hook(mpi().name); }
    // Rank 1 first runs a shell command.
    static Finished with_rank_1(const std::string& command, const std::string& what,
                                const std::string& settings = "") {
        const std::string unlike = "sh -c 'case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in 1) " +
                                   command + ";; esac; exec " + program() + " " + what + "'";
        return run(mpi().job(2, unlike, preload_of(mpi().name).settings + " " + settings));
    }
    // The MPI did everything, correctly, and one sentence says why.
    static void expect_left_alone(const Finished& done, const std::string& sentence) {
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "right\n"));
        EXPECT_EQ(matches_in(done.err, sentence).size(), 1u) << done.err;
        EXPECT_TRUE(matches_in(done.err, "MPI_Iallreduce +[1-9]").empty()) << done.err;
    }
};

INSTANTIATE_TEST_SUITE_P(On, Preloaded, testing::ValuesIn(mpis_and_debians()), name_of_mpi);

// All values of a number in the ranks' lines "rank 0: threads 2 ...".
std::set<std::string> all_of(const std::string& text, const std::string& number) {
    std::set<std::string> values;
    for (const Match& match : matches_in(text, ": (?:[a-z ]+ \\d+ )*" + number + " (\\d+)"))
        values.insert(match[1]);
    return values;
}

TEST_P(Preloaded, ProgramsOfMessagesAloneGetNoThreadsDescriptorsOrSwitches) {
    const Finished native = alone("messages"), done = with_weft("messages");
    ASSERT_EQ(native.status, 0) << native.err;
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(all_of(done.out, "threads"), all_of(native.out, "threads")) << done.out << native.out;
    EXPECT_FALSE(all_of(done.out, "level").empty()) << done.out;
    EXPECT_EQ(all_of(done.out, "level"), all_of(native.out, "level"))
        << "a thread level was raised";
    EXPECT_EQ(all_of(done.out, "more threads"), std::set<std::string>{"0"}) << done.out;
    EXPECT_EQ(all_of(done.out, "more descriptors"), std::set<std::string>{"0"}) << done.out;
    // A thread of the MPI may wake up by itself.
    const std::set<std::string> switches = all_of(done.out, "switches");
    EXPECT_FALSE(switches.empty()) << done.out;
    for (const std::string& number : switches) EXPECT_LE(std::stol(number), 2) << native.out;
}

TEST_P(Preloaded, TheStartIsTwoAllgathersAndAnAllreduce) {
    const Finished done = with_weft("reduce");
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(
        matches_in(done.err, "rank \\d of 2; 2 allgathers and 1 allreduce at the start\n").size(),
        2u)
        << done.err;
}

TEST_P(Preloaded, TenThousandMayBeOutstanding) {
    const Finished done = with_weft("many");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +10000 +0 ").empty()) << done.err;
}

TEST_P(Preloaded, MpichsRequestIsCompleteIsAnswered) {
    if (mpi().name != std::string("mpich")) GTEST_SKIP() << "is about MPICH's own function";
    std::vector<std::string> jobs = {"asks", "WEFT_TRANSPORT=mpi asks", "asks_in_poll",
                                     "WEFT_ENGINE=manual asks_in_poll 3"};
    if (runs_all()) {
        for (const char* job : {"asks 3", "WEFT_TRANSPORT=mpi asks 3", "asks_in_poll 3",
                                "WEFT_ENGINE=manual asks", "WEFT_ENGINE=manual asks_in_poll"})
            jobs.emplace_back(job);
    }
    for (const std::string& job : jobs) {
        const std::size_t at = job.find("asks");
        const Finished done = with_weft(job.substr(at), job.substr(0, at), 3);
        EXPECT_EQ(done.status, 0) << job << done.out << done.err;
        EXPECT_EQ(done.out, "right\n") << job;
        EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +100 +0 ").empty()) << job << done.err;
    }
}

// A process of which only a part calls Weft's wrappers: what docs/preload.md says that it may do.
class PreloadedInPart : public Preloaded {
  protected:
    void SetUp() override {
        Preloaded::SetUp();
        if (IsSkipped()) return;
        if (const std::string absence = absence_of_library_alone(); !absence.empty())
            GTEST_SKIP() << "RTLD_DEEPBIND does not go with AddressSanitizer";
    }
    // The plugin calls the MPI's own functions.
    static Finished with_plugin(const std::string& what, const std::string& settings = "") {
        const std::string plugin =
            compiled("half.c", "half_plugin.so", "mpicc -shared -fPIC -DIS_PLUGIN");
        const std::string words = " " + plugin + " " + what;
        return run(mpi().job(3, compiled("half.c", "half") + words,
                             preload_of(mpi().name).settings + " " + settings));
    }
    static void expect_right(const Finished& done, const std::string& taken) {
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "right\n")) << done.out;
        EXPECT_EQ(matches_in(done.err, taken).size(), 3u) << done.err;
    }
};

INSTANTIATE_TEST_SUITE_P(On, PreloadedInPart, testing::ValuesIn(mpis()), name_of_mpi);

// MPICH and Intel MPI poll Weft for those who wait for a request of its.
TEST_P(PreloadedInPart, MpichsOwnFunctionsCompleteRequests) {
    if (mpi().is_openmpi()) GTEST_SKIP() << "Open MPI has no such polls";
    expect_right(with_plugin("completes"), "MPI_Iallreduce +450 +0 ");
    expect_right(with_plugin("completes multiple"), "MPI_Iallreduce +450 +0 ");
    if (!has_hook() || !runs_all()) return;
    expect_right(with_plugin("completes", "WEFT_ENGINE=manual"), "MPI_Iallreduce +450 +0 ");
    expect_right(with_plugin("completes", "WEFT_TRANSPORT=mpi"), "MPI_Iallreduce +450 +0 ");
}

TEST_P(PreloadedInPart, TheMpisOwnFunctionFreesRequests) {
    expect_right(with_plugin("frees"), "MPI_Ibarrier +20 +0 ");
}

TEST_P(PreloadedInPart, WrappersCompleteTheMpisOwnOperations) {
    expect_right(with_plugin("starts"), "MPI_Iallreduce +200 +0 ");
}

// As Julia's MPI.jl does it.
TEST_P(PreloadedInPart, NamesOfTheProcessAreTaken) {
    const std::string headers = "-DIS_OPENER -I" + mpi().folder() + "/include";
    const std::string opener = compiled("half.c", "half_opener", WEFT_C_COMPILER " " + headers);
    const std::string library =
        mpi().folder() + "/lib/" + (mpi().is_openmpi() ? "libmpi.so.40" : "libmpi.so.12");
    const Finished done =
        run(mpi().job(3, opener + " " + library, preload_of(mpi().name).settings));
    expect_right(done, "MPI_Iallreduce +1 +0 ");
}

TEST_P(Preloaded, ADeadRankEndsTheJobAsItWouldWithout) {
    // The launcher may learn first of the kill, or of the abort of a rank that Weft has told about it.
    const Finished native = alone("killed"), done = with_weft("killed");
    EXPECT_NE(native.status, 0);
    EXPECT_NE(done.status, 0) << done.out << done.err;
    EXPECT_NE(done.status, 124) << "it had to be stopped";
    EXPECT_FALSE(contains(done.out, "went on"));
}

// What one rank gets wrong, no rank waits for: mistakes.c says what must hold.
TEST_P(Preloaded, WrongArgumentsHangNobody) {
    const std::string cells = runs_all() ? " every=1" : " every=16 seed=3";
    const std::vector<std::string> ways =
        runs_all() ? std::vector<std::string>{"", "WEFT_CHECK=1", "WEFT_TRANSPORT=tcp"}
                   : std::vector<std::string>{""};
    for (const std::string& way : ways) {
        const Finished done =
            run(mpi().job(3, program("mistakes") + cells,
                          preload_of(mpi().name).settings + " WEFT_BLOCKING=1 " + way));
        EXPECT_EQ(done.status, 0) << way << done.err;
        EXPECT_EQ(matches_in(done.out, "ok [1-9]\\d* cells\n").size(), 1u) << way << done.err;
    }
}

TEST_P(Preloaded, OverlappingBlocksAreTakenAndStayInTheirPlaces) {
    const Finished done = run(mpi().job(3, program("mistakes") + " 'pick=gatherv overlap'",
                                        preload_of(mpi().name).settings));
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_FALSE(matches_in(done.out, "gatherv overlap 0 nonblocking: 0 0 0 then 0 0 0").empty())
        << done.out;
    EXPECT_FALSE(matches_in(done.err, "MPI_Igatherv +[1-9]\\d* +0 ").empty()) << done.err;
}

// The MPI's own fault tolerance: Weft does not know of revocations.
TEST_P(Preloaded, AFaultTolerantMpiIsLeftAlone) {
    if (mpi().is_debians || !mpi().is_openmpi()) GTEST_SKIP() << "no launcher with ULFM";
    const Finished done =
        run(mpi().around("timeout -k 2 55 mpiexec --with-ft ulfm -n 3 env " +
                         preload_of(mpi().name).settings + " " + program("revoked")));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n") << done.err;
    EXPECT_EQ(matches_in(done.err, "the MPI is left alone: its fault tolerance is on").size(), 1u)
        << done.err;
}

TEST_P(Preloaded, ARankMayBeStoppedInAWait) {
    for (const char* setting : {"WEFT_TRANSPORT=shm", "WEFT_TRANSPORT=tcp"}) {
        const Finished done = with_weft("stopped", setting);
        EXPECT_EQ(done.status, 0) << setting << done.out << done.err;
        EXPECT_EQ(done.out, "right\n") << setting;
        EXPECT_FALSE(matches_in(done.err, "MPI_Ibarrier +3 +0 ").empty()) << setting << done.err;
    }
}

TEST_P(Preloaded, AbortEndsTheJobAsItWouldWithout) {
    const Finished native = alone("aborts"), done = with_weft("aborts");
    EXPECT_EQ(done.status, native.status) << done.out << done.err;
    EXPECT_NE(done.status, 0);
    EXPECT_NE(done.status, 124) << "it had to be stopped";
}

TEST_P(Preloaded, ChildrenWithoutExecEndByThemselves) {
    const Finished done = with_weft("forks");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +6 +0 ").empty()) << done.err;
}

// Whatever weft_init refuses is refused here, too. (WEFT_RANK, WEFT_RANKS, WEFT_STARTUP_FD and WEFT_STARTUP_DIR are not
// read: the MPI says which rank a process is.)
TEST_P(Preloaded, MalformedSettingsLeaveAllToTheMpi) {
    const std::string digits(20, '9');
    const std::vector<std::string> all = {"WEFT_STATS=banana",
                                          "WEFT_STARTUP_TIMEOUT=nan",
                                          "WEFT_MIN_BYTES=" + digits,
                                          "WEFT_PRELOAD_CHECK=7",
                                          "WEFT_STARTUP_TIMEOUT=0",
                                          "WEFT_STARTUP_TIMEOUT=1x",
                                          "WEFT_MIN_BYTES=-1",
                                          "WEFT_MIN_BYTES=8x",
                                          "WEFT_BLOCKING=yes",
                                          "WEFT_DISABLE=ibcats",
                                          "WEFT_DISABLE=ibcast,mpi",
                                          "WEFT_CHECK=2",
                                          "WEFT_RESOURCES=connect=never",
                                          "WEFT_RESOURCES=connections=none",
                                          "WEFT_ENGINE=some",
                                          "WEFT_INTERFACES=weft-none",
                                          "WEFT_RESOURCES=ring=1M",
                                          "WEFT_PEER_TIMEOUT=nan",
                                          "WEFT_RESOURCES=queue_depth=0",
                                          "WEFT_RENDEZVOUS=-1",
                                          "WEFT_SHM_LARGE=some",
                                          "WEFT_RESOURCES=shm_ring=1",
                                          "WEFT_TIMEOUT=0",
                                          "WEFT_TRANSPORT=some",
                                          "WEFT_RESOURCES=on_demand=2",
                                          "WEFT_TUNING=/no/such/table",
                                          "WEFT_REPRODUCIBLE=2",
                                          "WEFT_TOPOLOGY=torus:7",
                                          "WEFT_PROGRESS_CPUS=some",
                                          "WEFT_SELECT=some",
                                          "WEFT_SELECT=model WEFT_MODEL=/no/such/model",
                                          "WEFT_ALGORITHM_BCAST=some",
                                          "WEFT_ALGORITHM=bcast=some"};
    for (std::size_t i = 0; i < (runs_all() ? all.size() : 4); ++i) {
        SCOPED_TRACE(all[i]);
        const bool is_of_tcp = all[i].find("=connections") != std::string::npos ||
                               all[i].find("_INTERFACES") != std::string::npos ||
                               all[i].find("_PEER") != std::string::npos;
        const std::string name = all[i].substr(all[i].rfind("WEFT_"));
        expect_left_alone(with_weft("reduce", all[i] + (is_of_tcp ? " WEFT_TRANSPORT=tcp" : "")),
                          "weft: the MPI is left alone: rank 0: [^\n]*" +
                              name.substr(0, name.find('=')) + "[^\n]*\n");
    }
}

// Only rank 1 differs, in various ways.
TEST_P(Preloaded, RanksThatDifferLeaveAllToTheMpi) {
    const std::string said = "weft: the MPI is left alone: rank [01]: ";
    const std::string unlike = said + "WEFT_DISABLE, [^\n]* of rank 1 differ from rank 0's\n";
    std::vector<std::pair<std::string, std::string>> all = {
        {"WEFT_TUNING=/", said + "[^\n]*rank 1: WEFT_TUNING=/: Is a directory; [^\n]*\n"},
        {"WEFT_DISABLE=ibcast", unlike},
        {"WEFT_SELECT=model WEFT_MODEL=/dev/zero",
         said + "[^\n]*rank 1: WEFT_MODEL=/dev/zero: it is no regular file; [^\n]*\n"},
        {"WEFT_STATS=some", said + "[^\n]*rank 1: WEFT_STATS = 'some'; [^\n]*\n"},
        {"WEFT_BLOCKING=1", unlike},
        {"WEFT_MIN_BYTES=64", unlike},
        {"WEFT_ENGINE=some", said + "[^\n]*rank 1: WEFT_ENGINE = 'some'; [^\n]*\n"},
        {"WEFT_CHECK=1", said + "[^\n]*rank 1 has WEFT_CHECK='1', [^\n]*\n"},
        {"WEFT_TRANSPORT=tcp WEFT_INTERFACES=weft-none", said + "[^\n]*rank 1[^\n]*\n"}};
    if (!has_hook())
        all.insert(all.begin(),
                   {"WEFT_ENGINE=manual", said + "the engine manual would not advance [^\n]*\n"});
    for (std::size_t i = 0; i < (runs_all() ? all.size() : 3); ++i) {
        SCOPED_TRACE(all[i].first);
        expect_left_alone(with_rank_1("export " + all[i].first, "reduce"), all[i].second);
    }
}

TEST_P(Preloaded, WhatMpiFinalizeCallsFindsEverything) {
    const Finished done = with_weft("finalizes_by_attribute");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +2 +0 ").empty()) << done.err;
}

// Also what runs only inside the MPI's calls. MPICH ends its hooks before it deletes attributes.
TEST_P(Preloaded, OperationsOfTheProgramRunInsideTheCallsOfMpiFinalize) {
    if (!has_hook() || !mpi().is_openmpi()) GTEST_SKIP() << "it has no progress hook by then";
    const Finished done = with_weft("finalizes_by_operations", "", 3);
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +40 +0 ").empty()) << done.err;
}

TEST_P(Preloaded, ForgottenRequestsDoNotDisturbFinalize) {
    const Finished done = with_weft("finalizes_with_requests");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_FALSE(contains(done.err, "persistent request")) << "the MPI had to free one\n"
                                                           << done.err;
}

// The variables of the libraries that MPI_Init has loaded are destroyed before. (MPICH alone may be killed there.)
TEST_P(Preloaded, AFunctionOfAtexitMayFinalize) {
    const Finished native = alone("finalizes_at_exit");
    if (native.status != 0) GTEST_SKIP() << "this MPI alone ends with " << native.status;
    Finished done = with_weft("finalizes_at_exit");
    if (done.status == 9) done = with_weft("finalizes_at_exit");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\nright\n");
}

TEST_P(Preloaded, TheLibrarysNameMayBeRelativeToAFolderThatIsLeft) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Finished done =
        run("cd " WEFT_BUILD_DIR "; " +
            mpi().job(2, program() + " moves", "LD_PRELOAD=./libweft_mpi.so WEFT_STATS=1"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

// Every rank must take part, but it is enough that one of them asks for it.
TEST_P(Preloaded, OneRankMayWantTheCheckAlone) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    const Finished done = with_rank_1("export WEFT_PRELOAD_CHECK=1 WEFT_STATS=0", "reduce");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_TRUE(contains(done.err, "weft: check: each of 2 ranks has talked to every other\n"));
    EXPECT_EQ(statistics_in(done.err).size(), 1u) << done.err;
}

// --- An MPI that fails on rank 1 ---------------------------------------------------------------------

class PreloadedFaulty : public Preloaded {
  protected:
    static Finished with_fault(const std::string& what, const std::string& fault,
                               const std::string& settings = "") {
        const std::string folder = WEFT_BUILD_DIR "/tests/dropin/" + std::string(mpi().name);
        std::filesystem::create_directories(folder);
        const std::string library = folder + "/libfaulty.so";
        const std::string own = library + "." + std::to_string(getpid());
        const std::string name = mpi().is_openmpi() ? "libmpi.so.40.faulty" : "libmpi.so.12.faulty";
        const Finished made = run(mpi().around(
            "mpicc -std=c99 -Wall -Wextra -Werror -shared -fPIC -Wl,--no-as-needed,-soname," +
            name + " " WEFT_SOURCE_DIR "/tests/dropin/programs/faulty_mpi.c -o " + own));
        EXPECT_EQ(made.status, 0) << made.out << made.err;
        std::filesystem::rename(own, library);
        std::string preload = preload_of(mpi().name).settings;
        const std::string last = "libweft_mpi.so";
        preload.insert(preload.find(last) + last.size(), ":" + library);
        return alone(what, preload + " FAULTY_MPI=" + fault + " " + settings);
    }
};

INSTANTIATE_TEST_SUITE_P(On, PreloadedFaulty, testing::ValuesIn(mpis()), name_of_mpi);

TEST_P(PreloadedFaulty, NoFaultChangesNothing) {
    const Finished done = with_fault("reduce", "none");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

// The other rank is inside Weft: the MPI must not get the call.
TEST_P(PreloadedFaulty, WhatCannotBePackedIsAnError) {
    const Finished done = with_fault("packs", "pack");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
}

TEST_P(PreloadedFaulty, AWaitThatLacksMemoryIsAnErrorAndCanBeRepeated) {
    if (sanitizer_slowdown > 1) GTEST_SKIP() << "the sanitizer's own malloc does not fail";
    const Finished done = with_fault("lacks_memory", "memory");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
}

TEST_P(PreloadedFaulty, AStartThatLacksMemoryIsAnErrorAndCanBeRepeated) {
    if (sanitizer_slowdown > 1) GTEST_SKIP() << "the sanitizer's own malloc does not fail";
    const Finished done =
        with_fault("start_lacks_memory", "memory", "WEFT_ALGORITHM=allreduce=recursive_doubling");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

TEST_P(PreloadedFaulty, APersistentStartThatLacksMemoryIsAnErrorAndCanBeRepeated) {
    if (sanitizer_slowdown > 1) GTEST_SKIP() << "the sanitizer's own malloc does not fail";
    const Finished done = with_fault("persistent_lacks_memory", "memory");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Bcast_init +1 +0 ").empty()) << done.err;
}

TEST_P(PreloadedFaulty, AConstructorThatLacksMemoryIsAnError) {
    if (sanitizer_slowdown > 1) GTEST_SKIP() << "the sanitizer's own malloc does not fail";
    const Finished done = with_fault("constructor_lacks_memory", "memory");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

TEST_P(PreloadedFaulty, ARankWithoutAttributesLeavesAllToTheMpi) {
    expect_left_alone(with_fault("reduce", "keyval"),
                      "weft: the MPI is left alone: rank 1: the MPI refused an attribute[^\n]*\n");
}

TEST_P(PreloadedFaulty, ARankWithoutDescriptorsLeavesAllToTheMpi) {
    for (const char* transport : {"shm", "tcp"}) {
        if (!runs_all() && transport == std::string("shm")) continue;
        expect_left_alone(
            with_fault("reduce", "descriptors", std::string("WEFT_TRANSPORT=") + transport),
            "weft: the MPI is left alone: rank 0: rank 1: [^\n]*Too many open files[^\n]*\n");
    }
}

TEST_P(PreloadedFaulty, ARefusedHookIsTold) {
    if (!has_hook()) GTEST_SKIP() << "it has no progress hook";
    const Finished done = with_fault("reduce", "hook", "WEFT_ENGINE=manual");
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_EQ(matches_in(done.err, "weft: the MPI refuses its progress hook: [^\n]*\n").size(), 1u)
        << done.err;
}

// A copy of the library that claims another version.
TEST_P(Preloaded, RanksOfDifferentVersionsLeaveAllToTheMpi) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    const Folder folder;
    for (const auto& file : std::filesystem::directory_iterator(WEFT_BUILD_DIR)) {
        const std::string name = file.path().filename();
        if (!name.starts_with("libweft") && !name.starts_with("weft_mpi_")) continue;
        if (name.find(".so") == std::string::npos) continue;
        std::filesystem::copy(file.path(), folder / name,
                              std::filesystem::copy_options::copy_symlinks);
    }
    const std::string version = WEFT_VERSION, other = "9" + version.substr(1);
    const std::filesystem::path library =
        std::filesystem::canonical(std::filesystem::path(folder / "libweft.so"));
    std::string bytes = content(library);
    bool is_changed = false;
    for (std::size_t at = 0; (at = bytes.find('\0' + version + '\0', at)) != std::string::npos;) {
        bytes.replace(at + 1, version.size(), other);
        is_changed = true;
    }
    ASSERT_TRUE(is_changed);
    std::ofstream(library, std::ios::binary) << bytes;
    expect_left_alone(
        with_rank_1("export LD_PRELOAD=" + (folder / "libweft_mpi.so"), "reduce"),
        "weft: the MPI is left alone: rank 0: [^\n]*rank 1 has Weft version '" + other + "'");
}

// The others give up after a while, and say why.
TEST_P(Preloaded, ARankWithoutTheLibraryEndsTheJob) {
    for (const std::string what : {"messages", "reduce"}) {
        if (!runs_all() && what == "reduce") continue;
        const Finished done = with_rank_1("unset LD_PRELOAD", what, "WEFT_STARTUP_TIMEOUT=1");
        EXPECT_NE(done.status, 0) << done.out << done.err;
        EXPECT_NE(done.status, 124) << "it had to be stopped";
        const bool is_told =
            contains(done.err,
                     "weft: rank 0 has waited in MPI_Init for 1 s: other ranks have "
                     "not come");
        EXPECT_TRUE(is_told || what != "messages") << done.err;
    }
}

// Intel MPI does not let others into its calls.
TEST_P(Preloaded, AnEngineThatWouldStandStillLeavesAllToTheMpi) {
    const std::string sentence = "weft: the MPI is left alone: rank 0: the engine manual would ";
    if (!has_hook()) {
        for (const char* setting : {"WEFT_ENGINE=manual", "WEFT_TRANSPORT=mpi"})
            expect_left_alone(with_weft("reduce", setting), sentence + "[^\n]*no progress hook\n");
    }
    expect_left_alone(with_weft("reduce 3", "WEFT_ENGINE=manual WEFT_TRANSPORT=mpi"),
                      sentence + "[^\n]*\n");
}

TEST_P(Preloaded, ARankInsideTheMpiTakesPartInTheOthersBarrier) {
    std::vector<std::string> jobs = {"barrier 3", "WEFT_TRANSPORT=mpi barrier 3"};
    if (has_hook()) {
        for (const char* job : {"WEFT_ENGINE=manual barrier 0", "WEFT_ENGINE=manual barrier 3",
                                "WEFT_TRANSPORT=mpi barrier 0", "WEFT_TRANSPORT=mpi barrier 2"})
            jobs.emplace_back(job);
    }
    if (has_hook() && runs_all()) {
        for (const char* job :
             {"barrier", "WEFT_ENGINE=manual barrier 1", "WEFT_ENGINE=manual barrier 2",
              "WEFT_TRANSPORT=mpi barrier 1", "WEFT_ENGINE=manual WEFT_TRANSPORT=tcp barrier 0"})
            jobs.emplace_back(job);
    }
    for (const std::string& job : jobs) {
        const std::size_t at = job.find("barrier");
        const Finished done = with_weft(job.substr(at), job.substr(0, at), 3);
        EXPECT_EQ(done.status, 0) << job << "\n" << done.out << done.err;
        EXPECT_EQ(done.out, "right\n") << job;
        EXPECT_FALSE(matches_in(done.err, "MPI_Ibarrier +50 +0 ").empty()) << job << done.err;
    }
}

// ... and if only one thread uses the MPI, they run in that thread.
TEST_P(Preloaded, OperationsOfTheProgramRunInsideTheMpisCalls) {
    if (!has_hook()) GTEST_SKIP() << "it has no progress hook";
    for (const char* setting :
         {"", "WEFT_TRANSPORT=mpi", "WEFT_ENGINE=manual", "WEFT_TRANSPORT=tcp"}) {
        for (const char* level : {"", " 0", " 1", " 2"}) {
            if (!runs_all() && level[0] != 0 && (setting[0] != 0 || level[1] != '2')) continue;
            const Finished done = with_weft(std::string("operation") + level, setting, 3);
            EXPECT_EQ(done.status, 0) << setting << level << "\n" << done.out << done.err;
            EXPECT_EQ(done.out, "right\n") << setting << level;
            EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +40 +0 ").empty())
                << setting << level << done.err;
        }
    }
}

// Ranks describe the same bytes by different counts and types, and leave the same calls.
TEST_P(Preloaded, SmallOperationsAreLeftToTheMpi) {
    for (int ranks : {2, 3}) {
        if (!runs_all() && ranks == (mpi().is_openmpi() ? 3 : 2)) continue;
        const Finished done = run(mpi().job(
            ranks, program() + " bounds", preload_of(mpi().name).settings + " WEFT_MIN_BYTES=64"));
        EXPECT_EQ(done.status, 0) << done.out << done.err;
        EXPECT_EQ(done.out, "right\n");
        auto tables = statistics_in(done.err);
        ASSERT_EQ(tables.size(), static_cast<std::size_t>(ranks)) << done.err;
        using Left = std::map<std::string, long>;
        const std::string small = "below WEFT_MIN_BYTES";
        for (auto& rows : tables) {
            for (const std::string name : {"bcast", "gather", "scatter", "alltoall", "reduce",
                                           "allreduce", "scan", "exscan", "reduce_scatter_block"}) {
                EXPECT_EQ(rows["MPI_I" + name].taken, 1) << name;
                EXPECT_EQ(rows["MPI_I" + name].left, (Left{{small, 1}})) << name;
            }
            EXPECT_EQ(rows["MPI_Iallgather"].taken, 2);
            EXPECT_EQ(rows["MPI_Iallgather"].left, (Left{{small, 2}}));
            EXPECT_EQ(rows["MPI_Ibarrier"].left, (Left{{small, 1}}));
            for (const std::string name :
                 {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter",
                  "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
                  "neighbor_alltoallv", "neighbor_alltoallw"}) {
                if (mpi().is_openmpi() && name.ends_with("w")) continue;
                EXPECT_EQ(rows["MPI_I" + name].taken, 1) << name;
                EXPECT_TRUE(rows["MPI_I" + name].left.empty()) << name;
            }
        }
    }
}

TEST_P(Preloaded, NoThreadOfTheLibraryRunsWhileTheProgramComputes) {
    const Finished done = with_weft("computes");
    ASSERT_EQ(done.status, 0) << done.err;
    const auto lines = matches_in(done.out, "rank \\d: switches (\\d+) own switches (\\d+)");
    ASSERT_EQ(lines.size(), 2u) << done.out;
    for (const Match& line : lines) {
        // A thread of the MPI may wake up by itself.
        EXPECT_LE(std::stol(line[1]), 2) << done.out;
        EXPECT_EQ(std::stol(line[2]), 0) << done.out;
    }
}

// Measured in CPU time; an MPI alone takes the whole core.
TEST_P(Preloaded, AWaitingRankLeavesItsCoreToOthers) {
    const Finished done = with_weft("waits");
    ASSERT_EQ(done.status, 0) << done.err;
    const auto lines = matches_in(done.out, "rank 1: percent (\\d+)");
    ASSERT_EQ(lines.size(), 1u) << done.out;
    EXPECT_LT(std::stol(lines[0][1]), 50) << done.out;
}

TEST_P(Preloaded, WaitsForAnyOfSeveralAreCounted) {
    const Finished done = with_weft("waits_for_any");
    ASSERT_EQ(done.status, 0) << done.err;
    const auto lines = matches_in(done.out, "rank 1: any ([\\d.]+) some ([\\d.]+)");
    auto tables = statistics_in(done.err);
    ASSERT_EQ(lines.size(), 1u) << done.out;
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (const auto& [name, spent] : {std::pair<std::string, std::string>{"Ibarrier", lines[0][1]},
                                      {"Iallreduce", lines[0][2]}}) {
        const Taken& row = tables[1]["MPI_" + name];
        const double ms = std::stod(spent);
        EXPECT_GT(ms, 100) << name;
        EXPECT_GT(row.wait_ms, 0.8 * ms) << name << done.err;
        EXPECT_LT(row.wait_ms, 1.02 * ms) << name << done.err;
        EXPECT_LT(row.hidden_percent, 20) << name << done.err;
        EXPECT_GE(row.hidden_percent, 0) << name << done.err;
    }
}

TEST_P(Preloaded, CallsOfSessionsAreCounted) {
    if (mpi().is_debians && mpi().is_openmpi()) GTEST_SKIP() << "its MPI 3.1 has no sessions";
    const Finished done = with_weft("sessions");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_EQ(matches_in(done.err, "MPI_Iallreduce +0 +3 .*left 3: session\n").size(), 1u)
        << done.err;
}

TEST_P(Preloaded, DisabledFunctionsAreLeftToTheMpi) {
    const Finished done = with_weft("reduce", "WEFT_DISABLE=ibcast,MPI_Iallreduce");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +0 +1 .*left 1: disabled").empty())
        << done.err;
}

// --- weft preload ------------------------------------------------------------------------------------

const std::string preload_program = WEFT_BUILD_DIR "/weft preload ";

TEST_P(Preloaded, TheProgramSetsTheEnvironment) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const std::string part = mpi().is_openmpi() ? "openmpi" : "mpich";
    const std::string before = preload_program + "--mpi " + part + " --check ";
    const Finished done = run(mpi().job(2, before + program() + " reduce", "WEFT_STATS=1"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_EQ(done.out, "right\n");
    EXPECT_TRUE(contains(done.err, "weft: check: each of 2 ranks has talked to every other\n"));
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

// `weft run` starts a program of MPI as jobs of one rank.
TEST_P(Preloaded, TheWrongLauncherIsReported) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Finished done = run(mpi().around("timeout 55 " WEFT_BUILD_DIR "/weft run -n 2 " +
                                           preload_program + program() + " reduce"));
    EXPECT_EQ(matches_in(done.err,
                         "weft: weft run has started 2 ranks, but the MPI sees a job of "
                         "one rank in each; [^\n]*mpiexec -n 2 weft preload")
                  .size(),
              1u)
        << done.out << done.err;
}

TEST_P(Preloaded, TheLauncherMayStandBehindTheProgram) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Finished done = run(mpi().around("timeout 55 " + preload_program + "mpiexec -n 2 env " +
                                           "WEFT_STATS=1 " + program() + " reduce"));
    EXPECT_EQ(done.status, 0) << done.out << done.err;
    EXPECT_FALSE(matches_in(done.err, "MPI_Iallreduce +1 +0 ").empty()) << done.err;
}

// Three emulated nodes with two networks, the first for the MPI, the second for Weft.
class PreloadedOnNodes : public Preloaded {
  protected:
    void SetUp() override {
        Preloaded::SetUp();
        if (IsSkipped()) return;
        std::string absence = absence_of_library_alone();
        if (mpi().name != std::string("mpich")) absence = "started here as on docs/cluster.md";
        if (!WEFT_HAS_TCP) absence = "without tcp there is nothing between nodes";
        if (absence.empty())
            absence =
                absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
        if (!absence.empty()) GTEST_SKIP() << absence;
    }
    // A rank on each. If they are cut, what node 1 sends to node 2 over the second network is lost.
    static Finished on_nodes(bool are_cut, const std::string& command,
                             const std::string& settings = "") {
        const Folder folder;
        const std::string cut =
            "PATH=$PATH:/usr/sbin:/sbin\n"
            "[ $(hostname) = node1 ] && ip neigh replace 10.77.1.3 lladdr 02:00:00:00:00:77 dev "
            "eth1 nud permanent\n";
        std::ofstream(folder / "rank") << (are_cut ? cut : "") << "exec " << command << "\n";
        std::ofstream(folder / "launcher") << mpi().around(
            "exec mpiexec -launcher ssh -launcher-exec $WEFT_CLUSTER_AGENT "
            "-localhost $WEFT_CLUSTER_ADDRESS -hosts $WEFT_CLUSTER_NODES -ppn 1 "
            "-n 3 env UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 WEFT_INTERFACES=eth1 "
            "WEFT_PEER_TIMEOUT=1 " +
            settings + " sh " + (folder / "rank"));
        Finished done = run("PATH=$PATH:/usr/sbin:/sbin timeout -k 2 50 " WEFT_BUILD_DIR
                            "/weft run --timeout 40 --nodes 3 --links 2 --exec-per-node sh " +
                            (folder / "launcher"));
        EXPECT_NE(done.status, 124) << "it had to be stopped\n" << done.out << done.err;
        return done;
    }
};

INSTANTIATE_TEST_SUITE_P(On, PreloadedOnNodes, testing::ValuesIn(mpis_and_debians()), name_of_mpi);

TEST_P(PreloadedOnNodes, TheCheckNamesAPairThatCannotTalkAndEndsTheJob) {
    for (const bool is_cut : {false, true}) {
        SCOPED_TRACE(is_cut ? "cut" : "whole");
        const Finished done =
            on_nodes(is_cut, preload_program + "--check " + program() + " reduce");
        const bool is_said = contains(done.err, "weft: check: each of 3 ranks has talked to every");
        if (!is_cut) {
            EXPECT_EQ(done.status, 0) << done.out << done.err;
            EXPECT_TRUE(is_said) << done.err;
            continue;
        }
        EXPECT_NE(done.status, 0) << done.out << done.err;
        EXPECT_FALSE(is_said) << done.err;
        EXPECT_FALSE(contains(done.out, "right\n"));
        EXPECT_FALSE(
            matches_in(done.err, "weft: check: rank 1: [^\n]* rank 2 of the job").empty() &&
            matches_in(done.err, "weft: check: rank 2: [^\n]* rank 1 of the job").empty())
            << done.err;
    }
}

// Connections are opened when they are needed.
TEST_P(PreloadedOnNodes, ALinkThatFailsLaterReachesTheErrorHandlerOfEachRank) {
    for (const bool is_freed : {false, true}) {
        const std::string what = is_freed ? "loses_a_link_freed" : "loses_a_link";
        SCOPED_TRACE(what);
        const Finished done = on_nodes(true, preload_program + program() + " " + what,
                                       "WEFT_ALGORITHM=alltoall=pairwise");
        const std::string handler = is_freed ? "self" : "the communicator";
        EXPECT_EQ(
            matches_in(done.out, "rank \\d: an error, by " + handler + ", of class OTHER\n").size(),
            3u)
            << done.out << done.err;
        EXPECT_FALSE(contains(done.err, "is wrong\n"));
        EXPECT_FALSE(matches_in(done.err,
                                "weft: MPI_Ialltoall failed on rank 1: [^\n]*rank 2 of "
                                "the job[^\n]*")
                         .empty() &&
                     matches_in(done.err,
                                "weft: MPI_Ialltoall failed on rank 2: [^\n]*rank 1 of "
                                "the job[^\n]*")
                         .empty())
            << done.err;
    }
}

class PreloadProgram : public testing::Test {
  protected:
    void SetUp() override {
        if (!std::filesystem::exists(WEFT_BUILD_DIR "/weft")) GTEST_SKIP() << "built without it";
        if (const std::string absence = preload_of("mpich").absence; !absence.empty())
            GTEST_SKIP() << absence;
    }
};

TEST_F(PreloadProgram, PrintsTheSetting) {
    EXPECT_EQ(run(preload_program + "--print").out,
              "LD_PRELOAD=" WEFT_BUILD_DIR "/libweft_mpi.so\n");
}

// The library is loaded into every process of a job script.
TEST_F(PreloadProgram, ProgramsWithoutAnMpiRunAsEver) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Finished done = run(preload_program + "sh -c 'echo as ever; exit 3'");
    EXPECT_EQ(done.status, 3);
    EXPECT_EQ(done.out, "as ever\n");
    EXPECT_EQ(done.err, "");
}

TEST_F(PreloadProgram, KeepsWhatElseIsPreloaded) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const std::string other = "/lib/no_such.so";
    const Finished done =
        run("LD_PRELOAD=" + other + " " + preload_program + "sh -c 'echo $LD_PRELOAD'");
    EXPECT_EQ(done.out, other + ":" WEFT_BUILD_DIR "/libweft_mpi.so\n");
    EXPECT_EQ(run("LD_PRELOAD='" + other + " " + other + "' " + preload_program + "--print").out,
              "LD_PRELOAD=" + other + ":" + other + ":" WEFT_BUILD_DIR "/libweft_mpi.so\n")
        << "for `env`, which replaces the variable";
}

// Its runtime must be the first library of a process.
TEST_F(PreloadProgram, ProgramsWithAddressSanitizerStart) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Folder folder;
    const std::string source = folder / "program.c", program = folder / "program";
    std::ofstream(source)
        << "#include <stdio.h>\nint main(void) { return puts(\"started\") < 0; }\n";
    if (run(WEFT_C_COMPILER " -fsanitize=address " + source + " -o " + program).status != 0)
        GTEST_SKIP() << "this compiler has no AddressSanitizer";
    for (const std::string& before : std::vector<std::string>{
             "", "LD_PRELOAD=$(" WEFT_C_COMPILER " -print-file-name=libasan.so) "}) {
        const Finished done = run(before + preload_program + program);
        EXPECT_EQ(done.status, 0) << before << done.err;
        EXPECT_EQ(done.out, "started\n") << before << done.err;
    }
}

// A program that the user named, but not the tools of a job script.
TEST_F(PreloadProgram, ProgramsThatCannotGetAnythingAreReported) {
    if (const std::string absence = absence_of_library_alone(); !absence.empty())
        GTEST_SKIP() << absence;
    const Folder folder;
    const std::string source = folder / "program.c", program = folder / "program";
    std::ofstream(source) << "int main(void) { return 3; }\n";
    ASSERT_EQ(run(WEFT_C_COMPILER " " + source + " -o " + program).status, 0);
    const std::string sentence = "has loaded no MPI for which Weft has a part: nothing was taken";
    for (const std::string& before : std::vector<std::string>{"", "env ", "PMI_RANK=0 env "}) {
        const std::size_t space = before.rfind("env ");
        const std::string settings = before.substr(0, std::min(space, before.size()));
        const Finished done =
            run(settings + preload_program + before.substr(settings.size()) + program);
        EXPECT_EQ(done.status, 3);
        EXPECT_TRUE(contains(done.err, "weft: " + program + " " + sentence)) << before;
    }
    EXPECT_EQ(run("PMI_RANK=1 " + preload_program + program).err, "") << "rank 0 has said it";
    for (const std::string& script : std::vector<std::string>{
             "sh -c '" + program + "; exit 3'", "env sh -c '" + program + "; exit 3'"}) {
        const Finished done = run(preload_program + script);
        EXPECT_EQ(done.status, 3);
        EXPECT_EQ(done.err, "") << script;
    }
    if (run(WEFT_C_COMPILER " -static " + source + " -o " + program).status != 0) return;
    const Finished fixed = run(preload_program + program);
    EXPECT_EQ(fixed.status, 3);
    EXPECT_EQ(fixed.err, "weft preload: " + program +
                             " is linked statically: LD_PRELOAD has no effect, and nothing is "
                             "taken\n");
}

TEST_F(PreloadProgram, RefusesWhatItCannotRun) {
    const Finished nothing = run(preload_program);
    EXPECT_EQ(nothing.status, 2);
    EXPECT_EQ(nothing.err, "weft preload: no program given\n");
    const Finished missing = run(preload_program + "/no/such/program");
    EXPECT_EQ(missing.status, 2);
    EXPECT_TRUE(contains(missing.err, "cannot run /no/such/program: No such file or directory"));
    EXPECT_NE(run(preload_program + "--mpi lam true").status, 0);
}

}  // namespace weft::test::preload_test
