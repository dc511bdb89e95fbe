// Fibers on real processes: fibers_program.cpp says what must hold.
#include <signal.h>

#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::fibers_test {

const std::string program = "tests/conformance/fibers_program ";

class Fibers : public testing::TestWithParam<Driven> {
  protected:
    void SetUp() override {
        for (const std::string& absence : {where().absence(), absence_of(engine())}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        if (!runs_all() && where().has_one_engine && engine() != "fiber")
            GTEST_SKIP() << "with this engine only in a run of all tests";
        if (!runs_all() && where().ucx != nullptr)
            GTEST_SKIP() << "over UCX only in a run of all tests";
        const bool is_simplest = where().name == std::string("shm") && engine() == "fiber";
        if (!is_simplest && !is_its_turn(6)) GTEST_SKIP() << not_its_turn;
    }
    static void expect(const std::string& part) {
        for (const int ranks : where().some_of({2, 3, 4})) {
            expect_success(where().command({ranks, program + part, settings_of(engine())}));
        }
    }
    static bool is_of_all_tests() {
        return !runs_all() && (engine() != "fiber" || where().has_one_engine);
    }
    // A program that has nothing to do with fibers, in eight of them.
    static void expect_inside(const std::string& other_program, std::initializer_list<int> numbers,
                              const std::string& settings = "") {
        for (const int ranks : where().some_of(numbers)) {
            expect_success(
                where().command({ranks, "tests/conformance/" + other_program,
                                 settings + "WEFT_TEST_IN_FIBERS=1 " + settings_of(engine())}));
        }
    }
    // Its parts: the last ones only in a run of all tests.
    static void expect_parts_inside(const std::string& other_program,
                                    const std::vector<std::string>& usual,
                                    const std::vector<std::string>& others) {
        for (const std::vector<std::string>* parts : {&usual, &others}) {
            if (parts == &others && !runs_all()) continue;
            for (const std::string& part : *parts)
                expect_inside(other_program + " " + engine() + " " + part, {2, 3, 4});
        }
    }
    static const Surroundings& where() { return std::get<0>(GetParam()); }
    static std::string engine() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Jobs, Fibers,
                         testing::ValuesIn(driven_by({"fiber", "manual", "thread", "kernel"})),
                         Everywhere::name_of);

TEST_P(Fibers, WaitEachForItself) { expect("communicators"); }
TEST_P(Fibers, RunTheProgramsOfCommunicators) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_parts_inside("comms_program", {"all_collectives", "splits", "refused"},
                        {"frees", "interleaved", "ahead", "nodes", "settings", "topologies"});
    if (!runs_all()) return;
    for (const char* part : {" many", " growth 1000"})
        expect_inside("comms_program " + engine() + part, {3});
}
TEST_P(Fibers, RunTheProgramOfRequests) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_inside("request_program", {2});
}
TEST_P(Fibers, RunTheProgramsOfSchedules) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_parts_inside("schedule_program", {"calls", "lifetimes"},
                        {"binomial_bcast", "pipeline", "operand_order", "flaws"});
}
TEST_P(Fibers, RunTheProgramsOfWaiting) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    for (const std::string name : {"sockets", "demanded", "confined", "thousand"}) {
        if (runs_all() || name != "thousand") expect_inside("waiting_program " + name, {2});
    }
}
TEST_P(Fibers, RunCoroutines) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    for (const std::string name : {"requests", "tasks", "destroyed"})
        expect_inside("coroutines_program " + name, {2});
}
TEST_P(Fibers, RunTheProgramsOfTheCppInterface) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_parts_inside("cpp_program", {"collectives", "communicators"},
                        {"rooted", "neighbors", "combined", "pipeline"});
}
TEST_P(Fibers, RunTheProgramsOfReductions) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_inside("opaque_program +allreduce=ring reduce=binomial scan=linear", {3});
    expect_inside("reproducible_program", {3}, "WEFT_REPRODUCIBLE=1 ");
}
TEST_P(Fibers, LearnThatACallDoesNotMatch) {
    if (is_of_all_tests()) GTEST_SKIP() << "here only in a run of all tests";
    expect_inside("../fault/mismatch_program 10000 2", {2, 3, 4});
    if (!runs_all()) return;
    for (const char* counts : {"2 3", "3 2", "2 10000", "100000 100001"})
        expect_inside(std::string("../fault/mismatch_program ") + counts, {2, 3, 4, 5});
}
TEST_P(Fibers, DoNotGrowWithPersistentRequestsThatComeAndGo) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
    expect_inside("memory_program 20000", {2});
}
TEST_P(Fibers, WaitBesideAnotherThread) { expect("outside"); }
TEST_P(Fibers, ShareACommunicator) { expect("shared"); }
TEST_P(Fibers, GoOnBeforeThoseThatCompute) { expect("priority"); }
TEST_P(Fibers, SleepWhenAllWait) { expect(runs_all() ? "wait_long 100 10" : "wait_long 100 1"); }
TEST_P(Fibers, GiveUpAtDeadlinesAndWhenInterrupted) { expect("ends_of_waits"); }
TEST_P(Fibers, DoNotRunInFunctionsThatWeftCalls) { expect("functions"); }
TEST_P(Fibers, RunFunctionsOfSchedulesThatWait) {
    expect(runs_all() ? "schedules 30" : "schedules 8");
}
TEST_P(Fibers, RunFunctionsToTheirEndWhenTheirGroupBreaks) {
    expect("schedules_of_a_broken_group");
}
TEST_P(Fibers, PassWhatComesWhileOneComputesAndNeverYields) {
    expect("relay");
    if (where().name == std::string("tcp")) expect("relay_on_arrival");
}
TEST_P(Fibers, RunRandomProgramsBesideAComputationThatNeverYields) {
    if (!runs_all() && engine() != "fiber")
        GTEST_SKIP() << "with this engine only in a run of all tests";
    for (int seed = 1; seed <= (runs_all() ? 50 : 1); seed += 10) {
        expect("random_beside_computation " + std::to_string(seed));
        if (HasFailure()) return;
    }
}
TEST_P(Fibers, RunRandomPrograms) {
    for (int seed = 1; seed <= (runs_all() ? 200 : 10); seed += 10) {
        expect("random " + std::to_string(seed));
        if (HasFailure()) return;
    }
}

// Alone, over shared memory.
void expect_fine(const std::string& part, int ranks) {
    expect_success(surroundings("shm").command({ranks, program + part, "WEFT_ENGINE=fiber"}));
}

TEST(FibersOfARank, TakeTurns) { expect_fine("order", 1); }
TEST(FibersOfARank, HandleExceptionsOfTheirOwn) { expect_fine("exceptions", 1); }
TEST(FibersOfARank, RunFunctionsOfSchedulesBeforeThoseThatCompute) {
    expect_fine("functions_of_schedules", 1);
}
TEST(FibersOfARank, KeepTheirStateWhenTheyArePreempted) { expect_fine("preempted", 1); }
TEST(FibersOfARank, AreLookedForBesideOneWithoutSlices) { expect_fine("slices_differ", 2); }
TEST(FibersOfARank, LeaveTheProgramsHandlersAlone) { expect_fine("handlers", 1); }
TEST(FibersOfARank, CannotBePreemptedByWhatComesInSharedMemory) { expect_fine("no_arrivals", 2); }
TEST(FibersOfARank, ArePreemptedUntilAllIsDoneThatHasArrived) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "nothing is preempted";
#endif
    expect_success(surroundings("tcp").command(
        {2, "tests/conformance/fibers_long_work_program", "WEFT_ENGINE=fiber"}));
}
TEST(FibersOfARank, MaySleepAsTenThousand) {
    if (!runs_all()) GTEST_SKIP() << "only in a run of all tests";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer keeps too much memory for each fiber";
#endif
    expect_fine("wait_long 10000 10", 2);
}
TEST(FibersOfARank, MayBeTenThousand) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer keeps too much memory for each fiber";
#endif
    expect_fine("ten_thousand", 2);
}

Finished ended(const std::string& part) {
    // (A sanitizer that handled the signal would end the process with a status of its own.)
    const std::string unhandled = "handle_segv=0:handle_abort=0 ";
    return run("ulimit -c 0; ASAN_OPTIONS=" + unhandled + "TSAN_OPTIONS=" + unhandled +
               WEFT_BUILD_DIR "/" + program + part);
}

// The scheduler of another library: examples/boost_fiber.cpp.
TEST(FibersOfBoost, AreSuspendedOneByOne) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "Debian's Boost.Context does not tell sanitizers of switches";
#endif
    const std::string example = "examples/example_boost_fiber_cpp";
    if (!std::filesystem::exists(WEFT_BUILD_DIR "/" + example))
        GTEST_SKIP() << "this build has no Boost.Fiber (libboost-fiber-dev)";
    for (const char* transport : {"shm", "tcp"}) {
        if (!surroundings(transport).absence().empty()) continue;
        for (const char* engine : {"fiber", "auto"}) {
            SCOPED_TRACE(std::string(transport) + ", " + engine);
            expect_success(surroundings(transport).command({2, example, settings_of(engine)}));
        }
    }
}

TEST(FibersOfARank, EndTheProcessWithASentenceWhenAStackOverflows) {
    const Finished process = ended("overflow");
    EXPECT_EQ(process.status, 128 + SIGSEGV);
    EXPECT_TRUE(contains(process.err,
                         "weft: a fiber has overflowed its stack of 65536 bytes; expected less, or "
                         "more in weft::fibers::Options::stack_bytes\n"));
}

TEST(FibersOfARank, EndTheProcessWithoutThatSentenceForOtherFaults) {
    const Finished process = ended("bad_pointer");
    EXPECT_EQ(process.status, 128 + SIGSEGV);
    EXPECT_EQ(process.err.find("weft:"), std::string::npos) << process.err;
}

// Not ours again, which would call it for ever.
TEST(FibersOfARank, LetAHandlerOfTheProgramCallTheOneBeforeIt) {
    EXPECT_EQ(ended("bad_pointer_with_own_handler").status, 128 + SIGSEGV);
    const Finished process = ended("overflow_with_own_handler");
    EXPECT_EQ(process.status, 128 + SIGSEGV);
    const std::string sentence = "weft: a fiber has overflowed its stack";
    EXPECT_TRUE(contains(process.err, sentence));
    EXPECT_EQ(process.err.find(sentence), process.err.rfind(sentence)) << process.err;
}

TEST(FibersOfARank, EndTheProcessByAnExceptionThatNobodyCatches) {
    const Finished process = ended("uncaught");
    EXPECT_EQ(process.status, 128 + SIGABRT);
    EXPECT_TRUE(contains(process.err, "nobody catches this"));
}

TEST(FibersOfARank, EndTheProcessWithASentenceWhenAPreemptibleOneYields) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "nothing is preempted";
#endif
    const Finished process = ended("yields_while_preemptible");
    EXPECT_EQ(process.status, 128 + SIGABRT);
    EXPECT_TRUE(contains(process.err, "weft: a preemptible computation waits or yields"));
}

TEST(FibersOfARank, EndTheProcessWithASentenceWhenNoneCanGoOn) {
    const Finished process = ended("deadlock");
    EXPECT_EQ(process.status, 128 + SIGABRT);
    EXPECT_TRUE(contains(process.err, "weft: 2 fibers wait for one another"));
}

}  // namespace weft::test::fibers_test
