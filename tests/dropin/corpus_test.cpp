// MPI programs that know nothing about Weft, with each MPI alone and with Weft's library preloaded. Both must give the
// same results, which the programs know.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>

#include "algorithm/catalogue.h"
#include "dropin/preload.h"
#include "dropin/statistics.h"
#include "mpi/mpis.h"
#include "support/pattern.h"

namespace weft::test::corpus_test {

const std::string sources = WEFT_SOURCE_DIR "/tests/dropin/";

// --- What an MPI gets wrong by itself --------------------------------------------------------------

struct KnownFailure {
    std::string when;
    std::string section;
    std::string pattern;  // empty: the whole section

    // `given`: settings and options.
    bool applies(bool is_preloaded, const std::string& given) const {
        if (!is_preloaded || when == "always") return true;
        std::istringstream words(when);
        std::string word;
        words >> word;
        if (word != "unless") return false;
        while (words >> word) {
            if (given.find(word) == std::string::npos) return true;
        }
        return false;
    }
};

std::vector<KnownFailure> known_failures(const Mpi& mpi) {
    std::vector<KnownFailure> known;
    std::istringstream lines(content(sources + "known_failures.txt"));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream fields(line);
        std::string mpis, when, section, pattern;
        std::getline(fields, mpis, '|');
        std::getline(fields, when, '|');
        std::getline(fields, section, '|');
        std::getline(fields, pattern);
        if ((" " + mpis + " ").find(std::string(" ") + mpi.name + " ") == std::string::npos)
            continue;
        known.push_back({when, section, pattern});
    }
    return known;
}

// --- What Weft has taken ---------------------------------------------------------------------------

enum Form { nonblocking, persistent, blocking };

struct Functions {
    std::string names[3];  // by Form
    bool combines;
};

const std::vector<Functions>& all_functions() {
    static const std::vector<Functions> all = {
#define COLLECTIVE(Name, name, parameters, arguments, call_) \
    {{"MPI_I" #name, "MPI_" #Name "_init", "MPI_" #Name},    \
     std::string_view(#parameters).find("MPI_Op") != std::string_view::npos},
#include "mpi_dropin/collectives.def"
#undef COLLECTIVE
    };
    return all;
}

// Open MPI's Fortran bindings store into the requests of these as if they were their own.
bool is_always_left(const Mpi& mpi, Form form, const std::string& name) {
    if (!mpi.is_openmpi() || form == blocking) return false;
    const bool has_types = name.find("lltoallw") != std::string::npos;
    if (form == nonblocking) return has_types;
    return has_types || name.ends_with("v_init") || name == "MPI_Reduce_scatter_init";
}

// Whether the MPI calls Weft from inside its own blocking calls.
bool has_hook(const Mpi& mpi) { return has_progress_hook(mpi.name); }

// On each rank all functions of a form were taken in all their calls. Without a progress hook or MPI_THREAD_MULTIPLE
// the MPI gets reductions for which Weft has no operation or type.
void expect_taken(const Mpi& mpi, const Finished& done, Form form, bool has_threads, int ranks) {
    auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), static_cast<std::size_t>(ranks)) << done.err;
    for (std::size_t rank = 0; rank < tables.size(); ++rank) {
        for (const Functions& functions : all_functions()) {
            const std::string& name = functions.names[form];
            Taken row = tables[rank][name];
            const std::string where = name + " on rank " + std::to_string(rank);
            if (is_always_left(mpi, form, name)) {
                EXPECT_EQ(row.taken, 0) << where;
                continue;
            }
            EXPECT_GT(row.taken, 0) << where << " was not taken\n" << done.err;
            if (functions.combines && !has_threads && !has_hook(mpi))
                row.left.erase("operation or type");
            for (const auto& [why, calls] : row.left)
                ADD_FAILURE() << where << ": " << calls << " calls were left to the MPI: " << why;
        }
    }
}

using Calls = std::map<std::string, long>;

// On each rank the MPI got exactly these calls for the sake of their communicators.
void expect_left_for_communicators(const Finished& done, int ranks, const Calls& wanted) {
    const auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), static_cast<std::size_t>(ranks)) << done.err;
    for (std::size_t rank = 0; rank < tables.size(); ++rank) {
        Calls left;
        for (const auto& [name, row] : tables[rank]) {
            if (const auto calls = row.left.find("communicator"); calls != row.left.end())
                left[name] = calls->second;
        }
        EXPECT_EQ(left, wanted) << "rank " << rank << "\n" << done.err;
    }
}

// --- Running the corpus ----------------------------------------------------------------------------

std::string corpus(const Mpi& mpi, const std::string& compiler = "mpicc") {
    return made_once(
        WEFT_BUILD_DIR "/tests/dropin/" + std::string(mpi.name) + "/corpus_by_" + compiler,
        {sources}, [&](const std::string& path) {
            expect_success(mpi.around(compiler +
                                      " -pthread -std=c99 -pedantic -Wall -Wextra -Werror "
                                      "-Wno-stringop-overread -Wno-stringop-overflow -O1 " +
                                      sources + "*.c -o " + path));
        });
}

// On a busy machine a run may take long. A step that hangs ends it sooner (main.c).
constexpr int run_seconds = sanitizer_slowdown > 1 ? 550 : 170;
constexpr std::int64_t run_ns = (run_seconds + 5) * std::int64_t{1'000'000'000};

using Words = std::vector<std::string>;

class DropIn : public testing::TestWithParam<std::tuple<Mpi, bool>> {
  protected:
    void SetUp() override {
        std::string absence = mpi().absence_of_itself();
        if (absence.empty() && is_preloaded()) absence = preload_of(mpi().name).absence;
        if (!is_preloaded() && sanitizer_slowdown > 1)
            absence = "without Weft, nothing has a sanitizer";
        // Debian's older MPIs fail in much of it by themselves.
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        if (!is_preloaded() && mpi().is_debians && !test.starts_with("KnownFailures"))
            absence = "without Weft, on newer ones";
        // One MPI alone is enough to show every day that the corpus is right.
        if (!is_preloaded() && !runs_all() && mpi().name != std::string("mpich"))
            absence = "without Weft, for a run of all tests";
        if (!absence.empty()) GTEST_SKIP() << absence;
        if (!is_its_turn(2)) GTEST_SKIP() << not_its_turn;
    }
    static const Mpi& mpi() { return std::get<0>(GetParam()); }
    static bool is_preloaded() { return std::get<1>(GetParam()); }

    static Finished started(int ranks, const Words& words, const std::string& settings,
                            const std::string& program = corpus(mpi())) {
        std::string command = program;
        for (const std::string& word : words) command += " '" + word + "'";
        const std::string preload = is_preloaded() ? preload_of(mpi().name).settings + " " : "";
        // Open MPI polls, and would not yield to other tests unless it has more ranks than cores.
        const std::string yields = "OMPI_MCA_mpi_yield_when_idle=1 ";
        return run(mpi().job(ranks, command, yields + preload + settings, run_seconds), run_ns);
    }

    // Runs sections, except what the MPI is known to get wrong.
    static Finished expect_ok(int ranks, const Words& sections, const std::string& settings = "",
                              const std::string& program = corpus(mpi())) {
        std::string given = settings;
        for (const std::string& word : sections) given += " " + word;
        // Weft then takes everything: MPICH 4.0's nonblocking collectives leave statuses undefined.
        Words words;
        if (mpi().is_debians) {
            words.push_back("threads=multiple");
            given += " threads=multiple";
        }
        for (const std::string& word : sections) {
            bool is_known = false;
            for (const KnownFailure& known : known_failures(mpi())) {
                is_known = is_known || (known.section == word && known.pattern.empty() &&
                                        known.applies(is_preloaded(), given));
            }
            if (!is_known) words.push_back(word);
        }
        for (const KnownFailure& known : known_failures(mpi())) {
            if (!known.pattern.empty() && known.applies(is_preloaded(), given))
                words.push_back("skip=" + known.pattern);
        }
        Finished done = started(ranks, words, settings, program);
        std::string said;
        for (const std::string& word : words) said += " '" + word + "'";
        EXPECT_EQ(done.status, 0) << ranks << " ranks:" << said << "\n" << done.out << done.err;
        EXPECT_TRUE(contains(done.out, "ok ")) << said;
        return done;
    }
    // Runs sections, and Weft takes all of a form's calls.
    static Finished expect_all_taken(int ranks, const Words& sections, Form form,
                                     bool has_threads = false, const std::string& settings = "",
                                     const std::string& program = corpus(mpi())) {
        const Finished done = expect_ok(ranks, sections, settings, program);
        const bool has_form = form != persistent || mpi().has_persistent_collectives();
        if (is_preloaded() && has_form) expect_taken(mpi(), done, form, has_threads, ranks);
        return done;
    }
    // Runs sections, and Weft has all communicators but those of `left`, the calls on them.
    static void expect_communicators_taken(int ranks, const Words& sections,
                                           const Calls& left = {}) {
        const Finished done = expect_ok(ranks, sections);
        if (is_preloaded()) expect_left_for_communicators(done, ranks, left);
    }
    static std::vector<int> usual(std::initializer_list<int> all, int one) {
        return runs_all() ? std::vector<int>(all) : std::vector<int>{one};
    }
};

// 0: unknown.
long free_gib() {
    const auto lines = matches_in(content("/proc/meminfo"), "MemAvailable: *(\\d+) kB");
    return lines.empty() ? 0 : std::stol(lines.front()[1]) >> 20;
}

std::string name_of(const testing::TestParamInfo<std::tuple<Mpi, bool>>& test) {
    return std::get<0>(test.param).name +
           std::string(std::get<1>(test.param) ? "_with_weft" : "_alone");
}

INSTANTIATE_TEST_SUITE_P(On, DropIn,
                         testing::Combine(testing::ValuesIn(mpis_and_debians()), testing::Bool()),
                         name_of);

// --- Everything it does ----------------------------------------------------------------------------

TEST_P(DropIn, NonblockingCollectives) {
    for (int ranks : usual({1, 2, 3, 4}, 3))
        expect_all_taken(ranks, {"nonblocking", "nonblocking_reductions"}, nonblocking);
}

// An MPI without large counts runs them with small ones.
TEST_P(DropIn, PersistentCollectivesWithLargeCounts) {
    for (int ranks : usual({1, 2, 3, 4}, 2)) {
        expect_all_taken(ranks, {"large=1", "persistent", "persistent_reductions"}, persistent);
    }
}

// A program that finds at run time what the library exports and the MPI lacks.
TEST_P(DropIn, FunctionsThatTheMpiMayLack) {
    const Words sections = {"large_arguments", "large_between_groups", "status_of_lists",
                            "persistent_collectives", "idup_with_info"};
    if (!is_preloaded() && !runs_all()) GTEST_SKIP() << "without Weft, for a run of all tests";
    for (int ranks : usual({1, 2, 3, 4}, 3)) {
        for (const char* settings : {"", "WEFT_DISABLE=all"}) expect_ok(ranks, sections, settings);
    }
}

TEST_P(DropIn, NonblockingCollectivesWithLargeCounts) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    for (int ranks : {2, 4}) {
        expect_all_taken(ranks, {"large=1", "nonblocking", "nonblocking_reductions"}, nonblocking);
    }
}

TEST_P(DropIn, BlockingCollectivesStayWithTheMpi) {
    if (mpi().is_debians) GTEST_SKIP() << "their results are the MPI's: on newer ones";
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    for (const char* counts : {"large=0", "large=1"}) {
        const Finished done = expect_ok(3, {counts, "blocking", "blocking_reductions"});
        for (const auto& rows : statistics_in(done.err)) {
            for (const auto& [name, row] : rows) {
                const bool is_blocking = !name.starts_with("MPI_I") && !name.ends_with("_init");
                EXPECT_TRUE(row.taken == 0 || !is_blocking) << name;
            }
        }
    }
}

TEST_P(DropIn, BlockingCollectivesAreTakenOnDemand) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    for (const char* counts : {"large=0", "large=1"}) {
        if (!runs_all() && counts == std::string("large=0")) continue;
        const Words sections = {"threads=multiple", counts, "blocking", "blocking_reductions"};
        expect_all_taken(runs_all() ? 3 : 2, sections, blocking, true, "WEFT_BLOCKING=1");
    }
}

// User-defined reductions are taken where a rank that is inside the MPI can combine.
TEST_P(DropIn, UsersReductionsAdvanceInsideTheMpisCalls) {
    for (const char* level :
         {"threads=single", "threads=funneled", "threads=serialized", "threads=multiple"}) {
        for (int ranks : usual({2, 3, 4}, 3)) {
            const Words sections = {level, "user_operation_then_recv",
                                    "user_operation_then_blocking", "user_operations"};
            const Finished done = expect_ok(ranks, sections);
            if (!is_preloaded()) continue;
            const bool takes = has_hook(mpi()) || level == std::string("threads=multiple");
            for (auto& rows : statistics_in(done.err)) {
                Taken row = rows["MPI_Iallreduce"];
                const long left = row.left["operation or type"];
                EXPECT_GT(takes ? row.taken : left, 0) << level << done.err;
                EXPECT_EQ(takes ? left : row.taken, 0) << level << done.err;
            }
        }
    }
}

// Weft runs only in the program's own calls, and where the MPI lets Weft in.
TEST_P(DropIn, EverythingOverTheMpiAndWithTheEngineManual) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    if (!has_hook(mpi())) GTEST_SKIP() << "it has no progress hook";
    const Words sections = {"nonblocking",
                            "nonblocking_reductions",
                            "mixed_requests",
                            "barrier_behind_message",
                            "freed_before_wait",
                            "user_operation_then_recv",
                            "user_operation_then_blocking"};
    for (const char* setting : {"WEFT_ENGINE=manual", "WEFT_TRANSPORT=mpi"})
        expect_all_taken(3, sections, nonblocking, false, setting);
}

// With MPI_THREAD_MULTIPLE reductions may ask the MPI to combine.
TEST_P(DropIn, EverythingIsTakenWithThreads) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    for (int ranks : usual({2, 3, 4}, 2)) {
        const Finished done = expect_ok(ranks, {"threads=multiple", "nonblocking_reductions",
                                                "persistent_reductions", "random", "count=500"});
        for (const auto& rows : statistics_in(done.err)) {
            for (const auto& [name, row] : rows)
                EXPECT_FALSE(row.left.contains("operation or type")) << name;
        }
    }
}

// The standard requires programs to keep arrays and operations; the library does not need them. Calls that stay with
// the MPI are left out: the MPI may need them.
TEST_P(DropIn, ArgumentsAreForgottenAtOnce) {
    if (!is_preloaded()) GTEST_SKIP() << "an MPI alone may need them";
    Words words = {"threads=multiple", "forget=1", "nonblocking", "persistent",
                   "nonblocking_reductions"};
    if (mpi().is_openmpi()) {
        for (const char* left :
             {"nonblocking alltoallw", "nonblocking neighbor_alltoallw", "persistent *v on",
              "persistent *w on", "persistent reduce_scatter on"}) {
            words.push_back(std::string("skip=") + left);
        }
    }
    const Finished done = expect_all_taken(3, words, nonblocking, true);
    if (mpi().has_persistent_collectives()) expect_taken(mpi(), done, persistent, true, 3);
}

// What this MPI combines Weft takes, and the rest is the MPI's to refuse.
TEST_P(DropIn, PredefinedReductions) {
    const Finished done = expect_ok(2, {"predefined_reductions", "threads=multiple"});
    if (!is_preloaded()) return;
    const auto refused = matches_in(done.out, "refused (\\d+) of (\\d+)");
    ASSERT_EQ(refused.size(), 1u) << done.out;
    auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (auto& rows : tables) {
        const Taken& row = rows["MPI_Iallreduce"];
        EXPECT_EQ(row.left, (Calls{{"arguments", std::stol(refused[0][1])}})) << done.err;
        EXPECT_EQ(row.taken, std::stol(refused[0][2]) - std::stol(refused[0][1]));
    }
}

// Also where the MPI does not let Weft in.
TEST_P(DropIn, ReductionsWithoutTheMpiAreTakenAtEveryLevel) {
    for (const char* level : {"threads=single", "threads=multiple"}) {
        const Finished done = expect_ok(2, {level, "reductions_without_the_mpi"});
        if (!is_preloaded()) continue;
        auto tables = statistics_in(done.err);
        ASSERT_EQ(tables.size(), 2u) << done.err;
        for (auto& rows : tables) {
            EXPECT_EQ(rows["MPI_Iallreduce"].left, Calls{}) << level << done.err;
            EXPECT_GT(rows["MPI_Iallreduce"].taken, 10) << level;
        }
    }
}

// Where the MPI does not let Weft in, it gets those for which Weft has no loop, for the reason that the page gives.
TEST_P(DropIn, PredefinedReductionsOfOneThread) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    const Finished done = expect_ok(2, {"predefined_reductions"});
    const auto refused = matches_in(done.out, "refused (\\d+) of \\d+");
    ASSERT_EQ(refused.size(), 1u) << done.out;
    auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (auto& rows : tables) {
        std::map<std::string, long> left = rows["MPI_Iallreduce"].left;
        EXPECT_EQ(left["arguments"], std::stol(refused[0][1])) << done.err;
        EXPECT_EQ(left["operation or type"] == 0, has_hook(mpi())) << done.err;
        EXPECT_GT(rows["MPI_Iallreduce"].taken, 200);
    }
}

TEST_P(DropIn, CompletionCalls) {
    for (int ranks : usual({1, 2, 4}, 2)) {
        Words sections = {"mixed_requests",
                          "empty_statuses",
                          "status_without_completion",
                          "persistent_status_without_completion",
                          "persistent_status_then_test",
                          "freed_when_complete",
                          "persistent_receive_by_testall",
                          "converted_handles"};
        if (is_preloaded()) sections.insert(sections.begin(), "empty=1");
        expect_ok(ranks, sections);
    }
}

TEST_P(DropIn, Communicators) {
    for (int ranks : usual({1, 2, 3, 4}, 3)) {
        expect_communicators_taken(ranks,
                                   {"duplicates", "parts", "topologies", "many_communicators"});
        Calls between;
        if (ranks > 1) between = {{"MPI_Iallreduce", 1}, {"MPI_Ibarrier", 1}};
        expect_communicators_taken(ranks, {"intercommunicators"}, between);
    }
}

// A communicator of a session: its calls are the MPI's.
TEST_P(DropIn, CommunicatorsOfGroupsAreLeft) {
    const Finished done = expect_ok(2, {"from_group"});
    if (!is_preloaded()) return;
    const auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (const auto& rows : tables) {
        std::size_t left = 0;
        for (const auto& [name, row] : rows) {
            EXPECT_EQ(row.taken, 0) << name << done.err;
            left += row.left.contains("communicator") ? 1 : 0;
        }
        if (mpi().name == std::string("mpich")) {
            EXPECT_EQ(left, 17u) << "not all that have no neighbors\n" << done.err;
        }
    }
}

// ... and those with processes of another job, which do not get the library here.
TEST_P(DropIn, CommunicatorsWithSpawnedProcessesAreLeft) {
    if (mpi().name != std::string("mpich") && mpi().name != std::string("openmpi"))
        GTEST_SKIP() << "on those whose settings are known";
    if (mpi().is_openmpi() && !runs_all())
        GTEST_SKIP() << "it needs all its networks: in a run of all tests";
    const Finished done = expect_ok(2, {"spawned"});
    if (!is_preloaded()) return;
    auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (auto& rows : tables) {
        for (const std::string name : {"MPI_Ibarrier", "MPI_Iallreduce", "MPI_Iallgather"}) {
            EXPECT_EQ(rows[name].taken, 1) << name << done.err;
            EXPECT_EQ(rows[name].left, (Calls{{"communicator", 1}})) << name << done.err;
        }
    }
}

TEST_P(DropIn, ProgramsThatHaveGoneWrong) {
    for (int ranks : usual({2, 3, 4}, 3)) {
        expect_communicators_taken(
            ranks, {"barrier_behind_message", "freed_before_wait", "idup_used_at_once",
                    "idup_beside_collectives", "file_beside_collectives", "bcast_of_unlike_types",
                    "user_operation_then_recv", "user_operations", "persistent_in_any_order",
                    "alltoallw_without_types", "attributes_of_self"});
    }
}

// Over TCP a large message needs its sender.
TEST_P(DropIn, MessagesOverTcpAdvanceInWaits) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    if (mpi().name != std::string("mpich") && mpi().name != std::string("openmpi"))
        GTEST_SKIP() << "on those whose settings are known";
    std::string tcp = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo";
    if (!mpi().is_openmpi()) {  // a receiver in libfabric over TCP does not need its sender
        if (match_of(run("hostname -I").out, "\\s*").size() == 1)
            GTEST_SKIP() << "UCX needs a network interface other than lo";
        tcp = "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=tcp,self";
    }
    const Finished done = expect_ok(2, {"barrier_behind_message"}, "CORPUS_SECONDS=20 " + tcp);
    auto tables = statistics_in(done.err);
    ASSERT_EQ(tables.size(), 2u) << done.err;
    for (auto& rows : tables) EXPECT_EQ(rows["MPI_Ibarrier"].taken, 5) << done.err;
    expect_ok(3, {"threads=multiple", "nonblocking_reductions", "random", "count=300"},
              "WEFT_TRANSPORT=mpi " + tcp);
}

TEST_P(DropIn, ThreadsThatAllCall) {
    if (!is_preloaded() && !runs_all()) GTEST_SKIP() << "without Weft, for a run of all tests";
    for (int ranks : usual({1, 2, 3, 4}, 2))
        expect_ok(ranks, {"threads=multiple", "threads", "recv_beside_wait"});
}

TEST_P(DropIn, ThreadsOfWhichOneCalls) {
    if (!is_preloaded() && !runs_all()) GTEST_SKIP() << "without Weft, for a run of all tests";
    if (mpi().name == std::string("debian_mpich"))
        GTEST_SKIP()
            << "it gets users' reductions at these levels, and leaves their statuses undefined";
    for (int ranks : usual({1, 2, 3, 4}, 3)) {
        expect_ok(ranks, {"threads=serialized", "threads_in_turn"});
        if (runs_all()) expect_ok(ranks, {"threads=funneled", "threads_that_compute"});
    }
}

TEST_P(DropIn, NumbersAboveAnInt) {
    if (!is_preloaded() && !runs_all()) GTEST_SKIP() << "without Weft, for a run of all tests";
    for (int ranks : usual({1, 2, 3}, 2)) expect_ok(ranks, {"large_extents", "large_counts"});
}

// Not with the MPIs alone: MPICH 5.0.2 and Intel MPI fail in the last one.
#define ABOVE_2_GIB(Name, section)                                                              \
    TEST_P(DropIn, Above2GiB##Name) {                                                           \
        if (!is_preloaded() || !runs_all()) GTEST_SKIP() << "with Weft, in a run of all tests"; \
        if (free_gib() < 12) GTEST_SKIP() << "needs 12 GiB of free memory";                     \
        expect_ok(2, {"threads=multiple", section});                                            \
    }
ABOVE_2_GIB(Bytes, "huge_bytes")
ABOVE_2_GIB(Elements, "huge_bcast")
ABOVE_2_GIB(Reductions, "huge_reduction")
ABOVE_2_GIB(UserOperations, "huge_user_operation")
#undef ABOVE_2_GIB

TEST_P(DropIn, Errors) {
    expect_ok(2, {"invalid_arguments", "invalid_lists", "null_addresses", "error_handlers"});
    if (is_preloaded()) expect_ok(2, {"misused_requests"});
}

TEST_P(DropIn, AllreduceInPlaceByEveryAlgorithm) {
    if (!is_preloaded()) {
        expect_ok(3, {"allreduce_in_place"});
        return;
    }
    for (const auto* algorithm : algorithm::find_spec("allreduce")->algorithms) {
        if (!runs_all() && algorithm != algorithm::find_spec("allreduce")->algorithms.front())
            break;
        expect_ok(4, {"allreduce_in_place"},
                  "WEFT_ALGORITHM=allreduce=" + std::string(algorithm->name));
    }
}

TEST_P(DropIn, RandomOperations) {
    if (runs_all() && is_preloaded()) GTEST_SKIP() << "a run of all tests has more of them";
    if (!is_preloaded() && mpi().name != std::string("mpich")) GTEST_SKIP() << "is about Weft";
    expect_communicators_taken(3, {"count=1000", "random"});
}

// 100,000 for each number of ranks, in parts that each end in time. Complete ones are also freed.
#define RANDOM_OPERATIONS(ranks, part)                                                            \
    TEST_P(DropIn, RandomOperationsOn##ranks##RanksPart##part) {                                  \
        if (!runs_all()) GTEST_SKIP() << "for a run of all tests";                                \
        if (!is_preloaded()) GTEST_SKIP() << "in so many each MPI has failures of its own";       \
        for (int seed = 5 * part - 4; seed <= 5 * part; ++seed)                                   \
            expect_communicators_taken(ranks,                                                     \
                                       {"seed=" + std::to_string(seed), "count=5000", "random"}); \
    }
RANDOM_OPERATIONS(2, 1)
RANDOM_OPERATIONS(2, 2)
RANDOM_OPERATIONS(2, 3)
RANDOM_OPERATIONS(2, 4)
RANDOM_OPERATIONS(3, 1)
RANDOM_OPERATIONS(3, 2)
RANDOM_OPERATIONS(3, 3)
RANDOM_OPERATIONS(3, 4)
RANDOM_OPERATIONS(4, 1)
RANDOM_OPERATIONS(4, 2)
RANDOM_OPERATIONS(4, 3)
RANDOM_OPERATIONS(4, 4)
#undef RANDOM_OPERATIONS

// A program that was compiled for the standard's binary interface runs on each MPI that has it.
TEST_P(DropIn, TheStandardsBinaryInterface) {
    if (!is_preloaded()) GTEST_SKIP() << "is about Weft";
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    const Mpi compiling = mpis().front();
    const std::string libraries = mpi().folder() + "/lib";
    if (!std::filesystem::exists(compiling.folder() + "/bin/mpicc_abi"))
        GTEST_SKIP() << "there is no mpicc_abi";
    if (!std::filesystem::exists(libraries + "/libmpi_abi.so.1"))
        GTEST_SKIP() << "this MPI does not have it";
    const std::string program = corpus(compiling, "mpicc_abi");
    const std::string settings = "LD_LIBRARY_PATH=" + libraries;
    const auto expect = [&](const Words& sections) { expect_ok(3, sections, settings, program); };
    expect_all_taken(3, {"threads=multiple", "nonblocking", "nonblocking_reductions"}, nonblocking,
                     true, settings, program);
    expect_all_taken(3, {"threads=multiple", "persistent", "persistent_reductions"}, persistent,
                     true, settings, program);
    expect({"large=1", "nonblocking"});
    expect({"mixed_requests", "empty_statuses", "duplicates", "parts", "from_group", "topologies",
            "intercommunicators", "random", "count=1000"});
    // MPI_Request_toint of Intel MPI 2021.18 ends in a segmentation fault, even without Weft.
    if (mpi().name != std::string("impi")) expect({"converted_handles"});
}

// Everything listed as an MPI's own failure is one: a list that is too long would hide Weft's failures.
TEST_P(DropIn, KnownFailuresAreTheMpis) {
    if (!runs_all()) GTEST_SKIP() << "for a run of all tests";
    if (is_preloaded()) GTEST_SKIP() << "is about the MPI alone";
    for (const KnownFailure& known : known_failures(mpi())) {
        bool fails = false;
        for (int ranks : {4, 3, 2}) {
            Words words = {known.section};
            if (!known.pattern.empty()) words.push_back("pick=" + known.pattern);
            if (known.pattern.find("_c on") != std::string::npos)
                words.insert(words.begin(), "large=1");
            if (fails) continue;
            const Finished done = started(ranks, words, "CORPUS_SECONDS=15");
            EXPECT_FALSE(contains(done.err, "no section ")) << done.err;
            fails = done.status != 0;
        }
        EXPECT_TRUE(fails) << known.section << " " << known.pattern;
    }
}

}  // namespace weft::test::corpus_test
