// What a file of samples holds, by scenario and contest, with the definitions of docs/measuring.md.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace weft::bench {

using Json = nlohmann::json;

struct Estimate {
    double value = 0;
    Interval interval = {};
};

// One member of a contest.
struct Measured {
    Json head;  // the "cell" line
    std::vector<Json> samples;

    std::string name() const { return head.at("member"); }
    bool is_again() const { return head.value("again", false); }
    // By repetition: the slowest rank's. Empty: there is no such column.
    std::vector<double> times(const std::string& column) const;
};

struct MeasuredContest {
    std::vector<Measured> members;
    const Json* scenario = nullptr;

    const Measured& baseline() const;
    const Measured* of(const std::string& member) const;
    // What its scenario is about.
    std::string column() const;
    // The share of the shorter one of work and operation that passes behind the other, in per cent.
    Estimate hidden(const Measured& member) const;
    // A member's time by the baseline's, repetition by repetition; of the one that is there again,
    // by the one that it repeats.
    Estimate ratio(const Measured& member) const;
    std::optional<Estimate> aa() const;
    // Why this row says nothing; "": it does.
    std::string disturbance() const;

  private:
    const Measured& twin(const Measured& again) const;
};

struct Experiment {
    std::string name;
    Json scenario;
    std::vector<MeasuredContest> contests;

    bool is_about(const char* what) const { return scenario.value("says", "time") == what; }
    std::vector<std::string> members() const;  // not those that are there again
    // What tells a contest apart: "ibcast 64K".
    std::string label(const MeasuredContest& contest) const;
    std::string place() const;  // "2 ranks on 2 emulated nodes, links of 1gbit"
};

struct SamplesFile {
    Json run;
    std::vector<Experiment> experiments;
    std::vector<Json> missing;
    std::vector<Json> switches;
    bool is_complete = false;
};

// Throws std::runtime_error with a sentence: FILE:LINE: what is wrong.
SamplesFile read_samples(const std::string& path);

}  // namespace weft::bench
