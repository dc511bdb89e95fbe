// The experiments of `weft simulate experiment`: each runs many simulations, and fills tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "weft/experiment/table.h"

namespace weft::simulate {

// What of an experiment is run; whatever is not given, it chooses itself.
struct ExperimentSize {
    std::optional<Rank> ranks_max;
    std::vector<std::int64_t> bytes = {};
};

struct Experiment {
    const char* name;
    const char* meaning;
    ExperimentResult (*run)(const ExperimentSize& size);
};

ExperimentResult run_sci(const ExperimentSize& size);
ExperimentResult run_core_direct(const ExperimentSize& size);
ExperimentResult run_scale(const ExperimentSize& size);
ExperimentResult run_best(const ExperimentSize& size);

inline constexpr Experiment experiments[] = {
    {"sci", "gather and alltoall on tori of SCI links, stored by the CPU or moved by the card",
     run_sci},
    {"core-direct", "allgather of 16 nodes of 8 ranks, handled by a card", run_core_direct},
    {"scale", "overlap and noise from 16 ranks on", run_scale},
    {"best", "the fastest broadcast and allreduce, and how far from the optimum", run_best},
};

}  // namespace weft::simulate
