#include "schedule/repeat_state.h"

#include <algorithm>

namespace weft {

RepeatState::RepeatState(const Schedule& schedule, const Repeat& repeat,
                         std::vector<std::uint32_t>& missing)
    : schedule_(&schedule),
      repeat_(&repeat),
      first_instance_(static_cast<Instance>(missing.size())),
      rows_(static_cast<std::size_t>(
          std::min<std::int64_t>(repeat.iterations, 2 * std::int64_t{repeat.window}))) {
    missing.resize(missing.size() + rows_.size() * repeat.ops);
}

// Sets an iteration's counters: its predecessors, plus one until it begins.
void RepeatState::prepare(std::int64_t iteration, std::span<std::uint32_t> missing) {
    if (iteration >= repeat_->iterations) return;
    rows_[row_of(iteration)] = {iteration, repeat_->ops};
    const auto row = missing.subspan(instance(repeat_->first, iteration), repeat_->ops);
    for (std::uint32_t i = 0; i < repeat_->ops; ++i) {
        row[i] = schedule_->in_degree()[repeat_->first + i] + 1;
    }
    if (iteration >= repeat_->window) return;
    // The first iterations have no predecessors in earlier ones.
    auto discount = [&](Edge edge) {
        if (edge.distance > iteration) --row[edge.to - repeat_->first];
    };
    for (OpId op = repeat_->first; repeat_->holds(op); ++op) {
        for (Edge edge : schedule_->after_completion(op)) discount(edge);
        const Edge issue = schedule_->after_issue(op);
        if (issue.to != Schedule::no_issue) discount(issue);
    }
}

}  // namespace weft
