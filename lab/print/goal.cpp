#include "lab/print/goal.h"

#include <map>
#include <utility>
#include <vector>

#include "schedule/repeats.h"

namespace weft {
namespace {

std::string label(std::size_t step) { return "l" + std::to_string(step); }

void add_rank_goal(std::string& out, const Schedule& schedule) {
    const std::vector<Step> steps = unroll(schedule);
    std::map<std::pair<Rank, OpKind>, std::int64_t> messages;  // on each lane so far
    out += "\nrank " + std::to_string(schedule.rank()) + " {\n";
    if (steps.empty()) out += "l0: calc 0\n";  // every rank needs an operation
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const Op& op = steps[s].what;
        out += label(s) + ": ";
        if (!op.is_message()) {
            out += "calc 0\n";
            continue;
        }
        const std::int64_t tag = messages[{op.peer, op.kind}]++;
        out += (op.kind == OpKind::send ? "send " : "recv ") + std::to_string(op.bytes) +
               (op.kind == OpKind::send ? "b to " : "b from ") + std::to_string(op.peer) + " tag " +
               std::to_string(tag) + '\n';
    }
    // Tags keep a lane in order, so issue order needs no dependencies.
    for (std::size_t s = 0; s < steps.size(); ++s) {
        for (std::uint32_t after : steps[s].after_completion) {
            out += label(after) + " requires " + label(s) + '\n';
        }
    }
    out += "}\n";
}

}  // namespace

std::string to_goal(std::span<const Schedule> schedules) {
    std::string out = "num_ranks " + std::to_string(schedules.size()) + "\n";
    for (const Schedule& schedule : schedules) add_rank_goal(out, schedule);
    return out;
}

}  // namespace weft
