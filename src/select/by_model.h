// Which algorithm takes the least time, or the least CPU time, by LogGP's closed forms and measured
// parameters.
//
// All is integers, so that ranks with the same parameters choose alike.
// Thread safety: immutable, share freely.
#pragma once

#include <optional>

#include "model/measured.h"
#include "select/table.h"

namespace weft {

enum class ModelGoal : std::uint8_t { time, cpu_time };

struct ModelSelection {
    ModelGoal goal = ModelGoal::time;
    model::MeasuredParameters parameters = {};

    // Among the algorithms that meet the call's needs; pipelines with segments of several sizes.
    // Nothing: the communicator is within one node, for which the parameters do not hold, or
    // algorithms make no claims about this call, as about those whose blocks differ. Hierarchical
    // algorithms use two networks, and are left out.
    std::optional<Choice> choose(const algorithm::GlobalArgs& agreed) const;
};

}  // namespace weft
