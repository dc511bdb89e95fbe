// All steps of a schedule, repeats written out: for tools, tests and the compiler of task lists.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// One operation in one iteration; if id is no_op, the beginning or the end of an iteration.
struct Step {
    OpId id = no_op;
    std::int64_t iteration = 0;
    Op what = {};                 // as it runs in this iteration
    std::uint32_t in_degree = 0;  // edges of both kinds into this step
    std::vector<std::uint32_t> after_completion =
        {};  // numbers of steps, as Schedule::after_completion
    std::vector<std::uint32_t> after_issue = {};
};

// Steps are numbered in schedule order: the operations before a repeat, its iterations one after
// the other, then the operations after it.
std::vector<Step> unroll(const Schedule& schedule);

}  // namespace weft
