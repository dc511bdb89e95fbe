// What a simulation found, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/outcome.h"

namespace weft::simulate {

struct Report {
    std::string title;                                              // empty: none
    std::vector<std::pair<std::string, std::uint64_t>> parameters;  // times in `unit`s
    std::uint64_t eager_bytes_max = 0;                              // S
    std::uint64_t events = 0;
    std::uint64_t units_per_ns = 1;  // of all times here
    std::vector<std::uint64_t> end;  // by rank
    std::vector<std::uint64_t> cpu;  // by rank: how long its CPU was busy; empty: unknown
    std::vector<std::uint64_t>
        disturbed;  // by rank: its late start and noise; empty: no disturbance
    std::optional<std::uint64_t> undisturbed_end;
    // Beside a computation; otherwise empty:
    std::vector<std::uint64_t> wait;  // by rank: how long the program's CPU did nothing
    std::vector<double> overlaps;     // by rank: share_hidden()
    std::optional<double> overlap;    // of the last ranks
    // By the algorithm's claims: the end, and for how much of that the CPU works.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> closed_form;
    std::optional<std::uint64_t> lower_bound;  // of all algorithms' ends
    std::optional<std::uint64_t>
        by_rounds;  // on a torus: the end, if every round waited for its fullest link
};

// The share of the most disturbed rank's disturbance that has not made the end later. Nothing if
// no rank was disturbed, or it is unknown how long it takes undisturbed.
std::optional<double> absorbed(const Report& report);

// The lower bound as a share of the end. Nothing if there is none, or both are 0.
std::optional<double> optimality(const Report& report);

// How much of the shorter one of a collective, alone, and a computation is hidden if both take
// `together`. 1, if nothing is to hide; less than 0, if they take longer than one after the other.
double share_hidden(std::int64_t alone_ps, std::int64_t compute_ps, std::int64_t together_ps);

// A summary; every rank's times if there are few.
std::string to_text(const Report& report);
// A line for each rank.
std::string to_csv(const Report& report);
std::string to_json(const Report& report);

// What ranks were doing and when, as Chrome and Perfetto read it: a process for each rank, with its
// CPU and the two sides of its network interface.
std::string to_trace(std::span<const BusySpan> spans);

}  // namespace weft::simulate
