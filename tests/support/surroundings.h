// Where the ranks of a job run, for tests that must hold everywhere: one table for ranks that are
// processes, one for ranks that are threads of the test (thread_job.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "support/process.h"

namespace weft::test {

// --- Processes -----------------------------------------------------------------------------------

struct Surroundings {
    const char* name;
    const char* settings;         // environment
    bool has_nodes;               // two, emulated; ranks of one node follow each other
    int usual_ranks;              // how many are tried unless all tests run; 0: all
    bool suits_kernel;            // task lists are tried here too
    bool has_one_engine = false;  // ... only with `thread`, unless all tests run
    const char* ucx = nullptr;    // UCX's transports; null: it is not used

    // Runs `program`, a path in the build with its arguments.
    struct Job {
        int ranks;
        std::string program;
        std::string settings{};  // further ones
        std::string options = "--timeout " + std::to_string(60 * sanitizer_slowdown);
    };
    std::string command(const Job& job) const;

    // Which of these numbers of ranks are tried. Except on shm only one, unless all tests run.
    std::vector<int> some_of(std::initializer_list<int> ranks) const;

    // Why this machine cannot provide these surroundings; empty: it can.
    std::string absence() const;
};

// Only shared memory; tcp over loopback, the same with dedicated connections, and with IPv6; shm within a node and tcp
// between nodes; ucx over loopback, within and between nodes and, in a run of all tests, over shared memory and
// whatever else it finds.
const std::vector<Surroundings>& surroundings();

const Surroundings& surroundings(const std::string& name);

inline void PrintTo(const Surroundings& where, std::ostream* out) { *out << where.name; }

// Each of the engines in all surroundings; the kernel engines where there are task lists.
using Driven = std::tuple<Surroundings, const char*>;
std::vector<Driven> driven_by(std::initializer_list<const char*> engines);

// Why UCX cannot be used on this machine with these transports of its own ("tcp"); empty: it can.
std::string ucx_absence(const char* tls);

// The environment with which messages from 1 KiB on wait for their receiver on dedicated connections.
inline constexpr const char* dedicated_rendezvous =
    " WEFT_RENDEZVOUS=1K WEFT_RESOURCES=dedicated_rendezvous=1";

// The environment that gives a job this engine. A kernel engine is offered everything.
std::string settings_of(const std::string& engine);

// Why this machine cannot have it; empty: it can.
std::string absence_of(const std::string& engine);

// Whether all tests run, including slow ones.
bool runs_all();

// Which part of the tests takes its turn, if not all do: WEFT_TEST_TURN, which ./dev test takes from the commit.
std::size_t test_turn();

// Whether it is the running test's turn: always, if all tests run or WEFT_TEST_TURN is not set; otherwise for one in so
// many of the values of its parameter, which differ from test to test.
bool is_its_turn(std::size_t one_in);
inline constexpr const char* not_its_turn = "it is not its turn";

// Why there can be no emulated nodes; empty: they are possible. Asks the kernel and iproute2, not weft. `unshare`: that
// program with its options, except --net.
std::string absence_of_nodes(const std::string& unshare);

// A suite of tests that hold in all surroundings and with every engine:
//   INSTANTIATE_TEST_SUITE_P(Jobs, Suite, Everywhere::all(), Everywhere::name_of);
class Everywhere : public testing::TestWithParam<Driven> {
  public:
    static auto all() { return testing::ValuesIn(driven_by({"manual", "thread", "kernel"})); }
    static std::string name_of(const testing::TestParamInfo<ParamType>& test) {
        std::string engine_text = std::get<1>(test.param);
        std::ranges::replace(engine_text, ':', '_');
        return std::string(std::get<0>(test.param).name) + "_" + engine_text;
    }

  protected:
    void SetUp() override {
        for (const std::string& absence : {where().absence(), absence_of(engine())}) {
            if (!absence.empty()) GTEST_SKIP() << absence;
        }
        if (!runs_all() && where().has_one_engine && engine() != "thread")
            GTEST_SKIP() << "with this engine only in a run of all tests";
        if (!runs_all() && where().ucx != nullptr && !is_everyday())
            GTEST_SKIP() << "over UCX only in a run of all tests";
        if (!is_simplest() && !is_its_turn(6)) GTEST_SKIP() << not_its_turn;
    }
    // Whatever the turn.
    static bool is_simplest() { return where().name == std::string("shm") && engine() == "thread"; }
    // Of these tests over UCX: few are enough to show that it works at all.
    static bool is_everyday() {
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        return test.starts_with("CarryAllCollectives/") || test.starts_with("KeepTheContractOf");
    }
    // Which of these numbers of ranks are tried: where().some_of(). Unless all tests run, engines other than manual try
    // only the smallest and the largest of them.
    static std::vector<int> some_of(std::initializer_list<int> ranks) {
        std::vector<int> some = where().some_of(ranks);
        if (!runs_all() && engine() != "manual" && some.size() > 2)
            some = {some.front(), some.back()};
        return some;
    }
    // Runs the program with the engine.
    static std::string command(Surroundings::Job job) {
        job.settings += " " + settings_of(engine());
        return where().command(job);
    }
    static const Surroundings& where() { return std::get<0>(GetParam()); }
    static std::string engine() { return std::get<1>(GetParam()); }
};

// --- Threads -------------------------------------------------------------------------------------

// mixed: shm between even ranks and between odd ones, else tcp
enum class Over : std::uint8_t { shm, tcp, mixed, mpi, ucx };

// (ucx only in a run of all tests.)
std::vector<Over> ways_between_threads();

const char* name_of(Over over);

inline void PrintTo(Over over, std::ostream* out) { *out << name_of(over); }

}  // namespace weft::test
