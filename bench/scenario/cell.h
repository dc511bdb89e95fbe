// One thing to measure: every axis of a scenario with one value, for one member of its contest.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/collective/call_form.h"

namespace weft::bench {

using Json = nlohmann::json;

// Which ranks: "all", "none", "others" (than those that are late, or compute), or a list.
struct Ranks {
    enum class Kind : std::uint8_t { all, none, others, listed };
    Kind kind = Kind::none;
    std::vector<int> listed = {};

    // `others`: those of which "others" are the rest.
    bool holds(int rank, const Ranks& others) const;
};

struct Link {
    std::string rate = "1gbit";
    std::string delay = "0";
    std::string jitter = "0";
    std::string loss = "0";
    int links = 1;  // of each node
    int gso = 0;    // as `weft run --gso`; 0: the system's default

    bool has_delay() const { return delay != "0" || jitter != "0" || loss != "0"; }
};

struct Compute {
    enum class What : std::uint8_t { loop, sleep, product, mmap, spinner };
    Ranks who = {};
    double factor = 1;  // times as long as the first member's operation takes;
    double us = 0;      // ... or so long, if it is not 0
    What what = What::loop;
};

struct Late {
    enum class Distribution : std::uint8_t { constant, uniform, exponential };
    Ranks who = {};
    double us = 0;  // of a uniform distribution the largest, of an exponential one the mean
    Distribution distribution = Distribution::constant;
};

// What a rank does for progress while it computes.
struct Progress {
    enum class Kind : std::uint8_t { none, tests, bytes, until, fiber };
    Kind kind = Kind::none;
    std::int64_t number = 0;  // of tests; bytes for which there is one test
    bool timer = false;       // fiber: the computation is preempted
    bool arrival = false;     // ... when something arrives
    bool repeats = false;     // ... until the wait has ended
};

enum class BarrierOf : std::uint8_t { ours, mpi, both };
enum class Timer : std::uint8_t { clock, cycles };

struct Cell {
    int id = 0;
    int contest = 0;  // cells that differ in the member only
    std::string scenario;
    std::string member;
    bool again = false;                    // A/A: the same as an earlier member
    std::vector<std::string> collectives;  // started one after another: "ibcast+igather"
    std::string algorithm;                 // as for weft_comm_dup_with(); "": Weft's choice
    std::int64_t bytes = 0;
    int ranks = 2;
    int nodes = 0;  // 0: this machine alone
    Link link;
    std::string cores;  // "": all; "none": ranks are not bound
    std::string transport = "auto";
    std::map<std::string, std::string> settings;  // of Weft, by name, beyond the environment's
    std::string engine = "auto";
    std::string implementation = "weft";
    double hides = 1;          // the timer's
    std::int64_t segment = 0;  // of a pipeline by hand
    CallForm call = CallForm::nonblocking;
    Progress progress;
    Compute compute;
    Late late;
    BarrierOf barrier = BarrierOf::ours;
    Timer timer = Timer::clock;

    Json axes;  // as it was written

    std::string collective() const;  // "ibcast+igather"
    // Whether a rank that is not here must be started by an MPI, and which ("" is Weft's launcher).
    bool is_of_mpi() const {
        return implementation.starts_with("mpi") || implementation == "thread:mpi" ||
               implementation == "libnbc" || implementation == "nbc:weft" || is_preloaded();
    }
    bool is_preloaded() const { return implementation == "preload" || implementation == "stub"; }
};

// A value that a scenario cannot have; what() is a sentence.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// `axes` has one value for each axis. Throws Refused.
Cell cell_from(const Json& axes);
// As in the samples, without what only a measurement knows.
Json sample_json(const Cell& cell);

// "300us", "10ms", "2s", "0". Throws Refused.
double duration_us(const std::string& text);

}  // namespace weft::bench
