// How long a collective takes with each of its algorithms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithm/catalogue.h"
#include "bench/collective/collective.h"
#include "bench/tune/record.h"

namespace weft::bench {

// A collective of the bench, and the library's description of it.
struct Subject {
    const Collective* collective;
    const algorithm::CollectiveSpec* spec;

    // Without sizes there is one measurement.
    std::vector<std::int64_t> sizes(const std::vector<std::int64_t>& all) const {
        return collective->has_size ? all : std::vector<std::int64_t>{0};
    }
    // The call of this size that the bench makes. REQUIRES: blocks have one size.
    algorithm::GlobalArgs agreed(std::int64_t bytes, const Topology& topology) const;
};

// Those of these names ("ibcast"); without names all. Calls that have no algorithms are left out. Refuses an unknown name.
Result<std::vector<Subject>> find_subjects(const std::vector<std::string>& names);

// An algorithm with its parameters, and the communicator that is forced to it.
struct Candidate {
    std::string setting;
    Job job;
};

// Collective.
Candidate make_candidate(const Job& job, const algorithm::CollectiveSpec& spec,
                         const std::string& setting);
// All algorithms of the collective, each with several values of its parameters, if any. Collective.
std::vector<Candidate> make_candidates(const Job& job, const algorithm::CollectiveSpec& spec);
void free_candidates(std::vector<Candidate>& candidates);

// That of this name, with the setting's parameters. Nothing: the call does not meet its needs.
std::optional<Schedule> schedule_of(const algorithm::CollectiveSpec& spec,
                                    const std::string& setting, algorithm::GlobalArgs agreed,
                                    Rank rank);

// fastest: a candidate whose interval lies above the fastest's is left out from then on, and all end when the rest have
// narrow intervals. all: none is left out, and there are as many repetitions as asked for (or a few more).
enum class Endurance { fastest, all };

struct Manner {
    int repetitions;
    Endurance endurance = Endurance::fastest;
    std::int64_t rest_ns = 0;  // of all ranks, before each call
    // Between start and wait each rank computes as long as the fastest candidate's start and wait
    // take without that. A step of the loop takes this long; 0: nobody computes.
    double step_us = 0;
};

// From the start to the end of the wait, the slowest rank, medians; the same on every rank. The candidates take turns.
// Those that cannot carry out the call are omitted. Of those that have the same schedules on every rank the first is
// measured (only where blocks have one size). Collective.
Timings measure_candidates(const Subject& subject, const Topology& topology, std::int64_t bytes,
                           const std::vector<Candidate>& candidates, const Manner& manner);

}  // namespace weft::bench
