// Scenarios: what to measure, as JSON (docs/measuring.md), and their expansion to jobs of cells.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/scenario/cell.h"

namespace weft::bench {

// What the cells of a contest share.
struct Contest {
    std::vector<Cell> cells;
    int repetitions = 50;
    double until = 0.05;  // ends when all intervals of medians are so narrow; 0: never early
    double budget_s = 60;
};

// Contests that one launch measures.
struct JobPlan {
    std::string launcher;  // "": `weft run`; otherwise an MPI: "mpich"
    std::string preload;   // "preload": under `weft preload`; "stub": under one that takes nothing
    bool async = false;    // with the MPI's own asynchronous progress
    std::vector<Contest> contests;

    const Cell& place() const { return contests[0].cells[0]; }  // ranks, nodes, link, cores
};

struct Missing {
    std::string scenario;
    std::string member;
    std::string why;
};

struct Plan {
    Json scenarios = Json::object();  // by name, as they were asked for
    std::vector<JobPlan> jobs;
    std::vector<Missing> missing;
};

struct Wanted {
    std::vector<std::string> names;  // of scenarios, or files (*.json)
    std::vector<std::string> set;    // "AXIS=VALUES"
    std::vector<std::string> mpis;   // of --against
    bool async = false;
    std::string build;  // for the implementation "build"
};

struct KnownScenario {
    std::string name;
    std::string question;
    bool is_of_paper = false;  // for a paper's figure or finding (docs/papers.md)
};
// Those in the program; of a paper's file each by itself.
std::vector<KnownScenario> known_scenarios();

// Refuses unknown names, axes and values with a sentence.
Result<Plan> expand(const Wanted& choice);

// A job for its ranks, and back.
Json to_json(const JobPlan& job);
JobPlan job_from(const Json& json);

}  // namespace weft::bench
