// What the kernel engines promise beyond what all engines do: kernel_program.cpp says what must hold.
// And what becomes of a job where the operating system has no io_uring for it.
#include <cerrno>

#include "support/in_call.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"
#include "support/thread_job.h"
#include "weft/collective.h"

namespace weft::test::kernel_test {

const std::string program = "tests/conformance/kernel_program ";

class Kernel : public Everywhere {
  protected:
    static void expect(const std::string& name) {
        for (int ranks : where().some_of({2, 3, 4}))
            expect_success(command({ranks, program + name}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Kernel, testing::ValuesIn(driven_by({"kernel", "kernel:own"})),
                         Everywhere::name_of);

// Messages of operations under way side by side keep their order, each in its place.
TEST_P(Kernel, OperationsSideBySideDoNotMix) {
    for (const char* operations : {"2", "8"}) {
        if (!runs_all() && operations == std::string("2")) continue;
        expect(std::string("outstanding ") + operations + " 64 " + (runs_all() ? "1000" : "50"));
        expect(std::string("outstanding ") + operations + " 4194304 " + (runs_all() ? "4" : "1"));
    }
}
TEST_P(Kernel, IsNotDisturbedByForksInTheMidstOfIt) { expect("forks"); }
TEST_P(Kernel, EndsWithAProcessThatExecutesAnotherProgram) {
    for (int ranks : where().some_of({2, 3, 4})) {
        // The other program ends well.
        expect_success(command({ranks, program + "becomes_another"}));
    }
}
TEST_P(Kernel, CompletesWhatThreadsStartThatExit) {
    if (engine() == "kernel:own") GTEST_SKIP() << "only one thread starts";
    expect("threads_that_exit");
}
TEST_P(Kernel, DoesNotInterruptTheProgram) {
    if (engine() == "kernel:own") GTEST_SKIP() << "this engine does, and says so";
    expect("sleeps_undisturbed");
}
TEST_P(Kernel, StartsNoThreadOfTheOperatingSystem) { expect("starts_no_threads"); }

// Over slow links, and ones that take small packets, a receive is woken most often.
TEST(KernelOnNodes, StartsNoThreadOfTheOperatingSystem) {
    const Surroundings& where = surroundings("mixed");
    for (const std::string& absence : {where.absence(), absence_of("kernel")}) {
        if (!absence.empty()) GTEST_SKIP() << absence;
    }
    for (const char* links : {"", " --gso 1500"}) {
        for (const char* engine : {"kernel", "kernel:own"}) {
            expect_success(
                where.command({.ranks = 2,
                               .program = program + "starts_no_threads",
                               .settings = settings_of(engine),
                               .options = std::string("--timeout 60 --rate 1gbit") + links}));
        }
    }
}

class KernelOwn : public Everywhere {
  protected:
    static void expect(const std::string& name) {
        for (int ranks : where().some_of({2, 3, 4})) expect_success(command({ranks, name}));
    }
};
INSTANTIATE_TEST_SUITE_P(Jobs, KernelOwn, testing::ValuesIn(driven_by({"kernel:own"})),
                         Everywhere::name_of);

TEST_P(KernelOwn, CarriesAllCollectives) {
    for (const char* name : {"all_collectives", "splits", "frees", "interleaved", "ahead"})
        expect(std::string("tests/conformance/comms_program kernel:own ") + name);
}
TEST_P(KernelOwn, RefusesTheStartsOfOtherThreads) { expect(program + "starts_of_other_threads"); }
TEST_P(KernelOwn, LetsAConstructorEndThatAnotherThreadHasBegun) {
    expect(program + "engine_changes_in_a_constructor");
}
TEST_P(KernelOwn, EndsWithTheThreadThatOwnsIt) {
    // Over slow links amid messages.
    const std::string links = where().has_nodes ? " --rate 100mbit" : "";
    for (int ranks : where().some_of({2, 3, 4})) {
        expect_success(command({.ranks = ranks,
                                .program = program + "owner_ends",
                                .options = "--timeout 60" + links}));
    }
}

// --- Where it cannot be --------------------------------------------------------------------------

struct Absent {
    const char* call;
    int error;
    const char* what;
};

class WithoutKernel : public testing::TestWithParam<Absent> {
  protected:
    // What the job prints besides its success. `rank`: the rank without io_uring; -1: all.
    static std::string said(const char* engine, int rank) {
        const auto& [call, error, what] = GetParam();
        const Finished job = expect_success(surroundings("tcp").command(
            {.ranks = 2,
             .program = program + "goes_without " + call + " " + std::to_string(error) + " " +
                        std::to_string(rank) + " '" + sentence() + "'",
             .settings = std::string("WEFT_ENGINE=") + engine,
             .options = "--timeout 60"}));
        return job.err;
    }
    static std::string sentence() {
        return GetParam().what + std::string(": ") + std::strerror(GetParam().error);
    }
    void SetUp() override {
        if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
        if (const std::string absence = absence_of("kernel"); !absence.empty())
            GTEST_SKIP() << absence;
    }
};
// As containers do it by seccomp; EPERM is kernel.io_uring_disabled's answer as well.
INSTANTIATE_TEST_SUITE_P(Seccomp, WithoutKernel,
                         testing::Values(Absent{"setup", EPERM, "io_uring cannot be set up"},
                                         Absent{"setup", ENOSYS, "io_uring cannot be set up"},
                                         Absent{"setup", EACCES, "io_uring cannot be set up"},
                                         Absent{"enter", EPERM, "io_uring takes no chain"}),
                         [](const auto& test) {
                             return std::string(test.param.call) + std::to_string(test.param.error);
                         });

TEST_P(WithoutKernel, TheThreadCarriesOnAndThatIsSaid) {
    for (const char* engine : {"kernel", "kernel:own"}) {
        const std::string line = std::string("weft: engine ") + engine +
                                 " is not available, using thread: " + sentence() + "\n";
        EXPECT_EQ(said(engine, -1), line + line);
        EXPECT_EQ(said(engine, 1), line);
    }
}

TEST_P(WithoutKernel, AutoUsesTheThread) {
    EXPECT_EQ(said("auto", -1), "");
    EXPECT_EQ(said("auto", 0), "");
    EXPECT_TRUE(contains(said("auto WEFT_STATS=1", -1),
                         "); no operation offloaded: " + sentence() + "; started by "));
}

TEST(Statistics, SayWhetherTheThreadWorksOnDemand) {
    const auto said = [](const std::string& settings) {
        const Finished job =
            expect_success("WEFT_STATS=1 WEFT_TRANSPORT=shm " + settings +
                           " " WEFT_BUILD_DIR "/weft run -n 2 --bind core --timeout 60 " +
                           WEFT_BUILD_DIR "/" + program + "outstanding 4 64 20");
        return job.err;
    };
    EXPECT_TRUE(contains(said(""), "engine auto (on demand); "));
    EXPECT_TRUE(contains(said("WEFT_RESOURCES=on_demand=0"), "engine auto (eager); "));
    EXPECT_TRUE(contains(said("WEFT_ENGINE=manual"), "engine manual; started by "));
}

TEST(Auto, IsTheDefaultAndSaysWhatItChose) {
    const auto said = [](const char* where) {
        const Finished job =
            expect_success(surroundings(where).command({.ranks = 2,
                                                        .program = program + "outstanding 4 64 20",
                                                        .settings = "WEFT_STATS=1",
                                                        .options = "--timeout 60"}));
        return job.err;
    };
    EXPECT_TRUE(contains(said("shm"),
                         "); no operation offloaded: no rank is reached over TCP; started by "));
    if (!WEFT_HAS_TCP || !absence_of("kernel").empty()) return;
    const std::string over_tcp = said("tcp");
    EXPECT_TRUE(contains(over_tcp, "); 0 operations offloaded, ")) << over_tcp;
    EXPECT_TRUE(contains(over_tcp, " that do not pay")) << over_tcp;
}

// A dedicated connection would use one interface only.
TEST(Auto, WantsNoDedicatedConnectionsIfARankHasSeveralInterfaces) {
    if (!WEFT_HAS_TCP || !absence_of("kernel").empty()) GTEST_SKIP() << "nothing is offloaded here";
    const auto said = [](const char* settings_of_rank_1) {
        const Finished job =
            expect_success("WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo WEFT_STATS=1 " WEFT_BUILD_DIR
                           "/weft run -n 2 --timeout 60 sh -c '[ $WEFT_RANK = 1 ] && export " +
                           std::string(settings_of_rank_1) + "; exec " WEFT_BUILD_DIR "/" +
                           program + "outstanding 4 64 20'");
        return job.err;
    };
    const std::string reason = " over several interfaces";
    const std::string one = said("WEFT_INTERFACES=127.0.0.2");
    EXPECT_EQ(one.find(reason), one.npos) << one;
    const std::string two = said("WEFT_INTERFACES=127.0.0.1,127.0.0.2");
    for (const std::string& line : sorted_lines(two)) EXPECT_TRUE(contains(line, reason));
    EXPECT_EQ(sorted_lines(two).size(), 2u) << two;
    // A kernel engine wants them for all ranks of its communicators.
    const std::string kernel = said("WEFT_INTERFACES=127.0.0.1,127.0.0.2 WEFT_ENGINE=kernel");
    EXPECT_EQ(kernel.find(reason), kernel.npos) << kernel;
    EXPECT_TRUE(contains(kernel, "); 0 operations offloaded, "));
}

// --- What is offloaded ---------------------------------------------------------------------------

#if WEFT_HAS_TCP
class Offloaded : public testing::TestWithParam<Over> {
  protected:
    static void expect_every_collective(const tcp::Settings& tcp);
};
INSTANTIATE_TEST_SUITE_P(Over, Offloaded, testing::Values(Over::tcp, Over::mixed),
                         [](const auto& over) { return name_of(over.param); });

// Every collective, small and large, one after the other and side by side.
void Offloaded::expect_every_collective(const tcp::Settings& tcp) {
    constexpr Rank ranks = 4;
    ThreadJob job(ranks, {.engine = EngineKind::kernel,
                          .may_spin = false,
                          .dedicates = true,
                          .over = GetParam(),
                          .offers_all = true,
                          .queue_depth = 16,
                          .tcp = tcp});
    job.run([&](ThreadRank& rank) {
        constexpr std::size_t most = 100'000;
        std::vector<std::int64_t> send(most * ranks, 1);
        std::vector<std::vector<std::int64_t>> recv(8, std::vector<std::int64_t>(most * ranks));
        for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, most}) {
            for (const bool side_by_side : {false, true}) {
                std::vector<weft_request> requests;
                for (int c = 0; c < 8; ++c) {
                    const auto collective = static_cast<Collective>(c);
                    auto* into = recv[static_cast<std::size_t>(c)].data();
                    const Call call{.collective = collective,
                                    .send_buf = send.data(),
                                    .recv_buf = into,
                                    .count = count,
                                    .type = WEFT_INT64,
                                    .op = WEFT_SUM,
                                    .root = c % ranks};
                    weft_request request = WEFT_REQUEST_NULL;
                    ASSERT_EQ(rank.start(call, &request), WEFT_OK) << rank.detail();
                    requests.push_back(request);
                    if (side_by_side) continue;
                    ASSERT_EQ(rank.wait(&requests.back()), WEFT_OK);
                }
                // (Those that were waited for are null.)
                for (weft_request& request : requests) ASSERT_EQ(rank.wait(&request), WEFT_OK);
            }
        }
        const auto& sum = recv[static_cast<std::size_t>(Collective::allreduce)];
        EXPECT_TRUE(std::all_of(sum.begin(), sum.begin() + most,
                                [=](std::int64_t value) { return value == ranks; }));
    });
    for (Rank rank = 0; rank < ranks; ++rank) {
        InCall in_call(job.at(rank).process().engine());
        Executor& executor = job.at(rank).process().executor();
        const std::string summary = executor.offload()->summary();
        EXPECT_TRUE(summary.ends_with(" offloaded, 0 not")) << summary;
        // (Between ranks that share memory there may be nothing to be offloaded.)
        EXPECT_GT(executor.offload()->begun(), GetParam() == Over::tcp ? 40u : 20u) << summary;
    }
}

TEST_P(Offloaded, IsEveryCollectiveOnAStreamThatHasConnections) {
    if (const std::string absence = absence_of("kernel"); !absence.empty()) GTEST_SKIP() << absence;
    expect_every_collective({.interfaces = "127.0.0.1"});
}

// From 4000 bytes on, messages wait for their CTS, in lists and outside of them.
TEST_P(Offloaded, IsEveryCollectiveWithRendezvous) {
    if (const std::string absence = absence_of("kernel"); !absence.empty()) GTEST_SKIP() << absence;
    expect_every_collective(
        {.interfaces = "127.0.0.1", .dedicated_rendezvous = true, .eager_threshold = 4000});
}

// A thread that shares its core with a computation may get it long after it was woken.
TEST(KernelThread, IsNotWaitedForByTestsWhereItMayBeLate) {
    if (const std::string absence = absence_of("kernel"); !absence.empty()) GTEST_SKIP() << absence;
    for (const bool shares_core : {true, false}) {
        SCOPED_TRACE(shares_core ? "on a shared core" : "on its own core");
        ThreadJob::Options options{.engine = EngineKind::kernel,
                                   .on_demand = shares_core,
                                   .dedicates = true,
                                   .over = Over::tcp};
        ThreadJob job(2, std::move(options));
        job.connect();
        job.run([&](ThreadRank& rank) {
            Process& process = rank.process();
            const Executor& executor = process.executor();
            std::vector<std::byte> data(100'000, static_cast<std::byte>(rank.rank() + 1));
            weft_request request = WEFT_REQUEST_NULL;
            {
                InCall in_call(process.engine());  // the thread cannot come meanwhile
                const Call call{.collective = Collective::bcast,
                                .recv_buf = data.data(),
                                .count = data.size(),
                                .type = WEFT_BYTE};
                Result<Request*> started = process.world().start(call);
                ASSERT_TRUE(started.is_ok()) << last_detail();
                request =
                    reinterpret_cast<weft_request>(process.requests().handle((*started)->place));
                EXPECT_TRUE(executor.has_offered());
                process.engine().progress();
                EXPECT_NE(executor.has_offered(), shares_core);
            }
            ASSERT_EQ(rank.wait(&request), WEFT_OK) << rank.detail();
            EXPECT_EQ(data.back(), std::byte{1});
        });
    }
}

// A communicator may be kept out of it, and taken in again.
TEST(KernelOptOut, IsOfOneCommunicator) {
    if (const std::string absence = absence_of("kernel"); !absence.empty()) GTEST_SKIP() << absence;
    ThreadJob::Options options{
        .engine = EngineKind::kernel, .dedicates = true, .over = Over::tcp, .offers_all = true};
    ThreadJob job(2, std::move(options));
    job.connect();
    std::uint64_t begun = 0;
    for (const bool offload : {true, false, true}) {
        job.run([&](ThreadRank& rank) {
            {
                InCall in_call(rank.process().engine());
                rank.process().world().set_offload(offload);
            }
            weft_request request = WEFT_REQUEST_NULL;
            ASSERT_EQ(rank.ibarrier(&request), WEFT_OK);
            ASSERT_EQ(rank.wait(&request), WEFT_OK);
        });
        InCall in_call(job.at(0).process().engine());
        const std::uint64_t now = job.at(0).process().executor().offload()->begun();
        EXPECT_EQ(now - begun, offload ? 1u : 0u);
        begun = now;
    }
}
#endif

}  // namespace weft::test::kernel_test
