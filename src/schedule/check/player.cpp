#include "schedule/check/player.h"

#include <algorithm>

namespace weft::checking {

Knowledge::Knowledge(Rank rank, Rank ranks, std::size_t instances)
    : own_(rank),
      words_((static_cast<std::size_t>(ranks) + 63) / 64),
      bits_(instances * words_),
      at_end_(words_) {
    for (Instance i = 0; i < instances; ++i) forget(i);
    at_end_[static_cast<std::size_t>(own_) / 64] |= std::uint64_t{1} << (own_ % 64);
}

// A rank always knows that it has entered itself.
void Knowledge::forget(Instance instance) {
    std::fill_n(of(instance), words_, 0);
    of(instance)[static_cast<std::size_t>(own_) / 64] = std::uint64_t{1} << (own_ % 64);
}

Player::Player(const Schedule& schedule, bool learns, std::vector<ReadyInstance>& ready)
    : schedule_(&schedule),
      ready_(&ready),
      missing_(schedule.in_degree().begin(), schedule.in_degree().end()) {
    for (const Repeat& repeat : schedule.repeats()) {
        RepeatState state;
        state.first_instance = static_cast<Instance>(missing_.size());
        state.rows = std::min<std::int64_t>(repeat.iterations, 2 * std::int64_t{repeat.window});
        const auto rows = static_cast<std::size_t>(state.rows);
        state.iteration_in_row.resize(rows);
        state.left_in_row.resize(rows);
        missing_.resize(missing_.size() + rows * repeat.ops);
        repeats_.push_back(std::move(state));
    }
    if (learns) knowledge_.emplace_back(schedule.rank(), schedule.ranks(), missing_.size());
}

std::size_t Player::repeat_index(Instance instance) const {
    if (instance < schedule_->ops().size()) return outside;
    std::size_t index = repeats_.size() - 1;
    while (repeats_[index].first_instance > instance) --index;
    return index;
}

Instance Player::instance_of(std::size_t repeat, OpId op, std::int64_t iteration) const {
    const RepeatState& state = repeats_[repeat];
    const Repeat& block = schedule_->repeats()[repeat];
    return state.first_instance + static_cast<Instance>(iteration % state.rows) * block.ops +
           (op - block.first);
}

Player::Position Player::place(Instance instance) const {
    const std::size_t index = repeat_index(instance);
    if (index == outside) return {instance, 0};
    const Repeat& repeat = schedule_->repeats()[index];
    const std::uint32_t cell = instance - repeats_[index].first_instance;
    return {repeat.first + cell % repeat.ops, repeats_[index].iteration_in_row[cell / repeat.ops]};
}

Op Player::op(Instance instance) const {
    const std::size_t index = repeat_index(instance);
    if (index == outside) return schedule_->ops()[instance];
    const Position at = place(instance);
    return shifted(schedule_->ops()[at.op], schedule_->repeats()[index], at.iteration);
}

void Player::start() {
    for (OpId root : schedule_->roots()) ready_->push_back({schedule_->rank(), root});
}

void Player::release(Instance instance, Instance because_of) {
    if (!knowledge_.empty()) knowledge_[0].learn(instance, knowledge_[0], because_of);
    if (--missing_[instance] == 0) ready_->push_back({schedule_->rank(), instance});
}

void Player::follow(Edge edge, Instance from) {
    const std::size_t index = repeat_index(from);
    if (index == outside) {
        release(edge.to, from);
        return;
    }
    const std::int64_t iteration = place(from).iteration + edge.distance;
    if (iteration < schedule_->repeats()[index].iterations) {
        release(instance_of(index, edge.to, iteration), from);
    }
}

void Player::issued(Instance instance) {
    const Edge next = schedule_->after_issue(place(instance).op);
    if (next.to != Schedule::no_issue) follow(next, instance);
}

void Player::completed(Instance instance) {
    const Position at = place(instance);
    missing_[instance] = done;
    if (!knowledge_.empty()) knowledge_[0].finish(instance);
    for (const Edge& edge : schedule_->after_completion(at.op)) follow(edge, instance);

    const std::size_t index = repeat_index(instance);
    if (index == outside) {
        for (std::size_t i = 0; i < repeats_.size(); ++i) {
            if (schedule_->repeats()[i].entry == at.op) begin_repeat(i);
        }
        return;
    }
    RepeatState& state = repeats_[index];
    const Repeat& repeat = schedule_->repeats()[index];
    if (!knowledge_.empty()) knowledge_[0].learn(repeat.exit, knowledge_[0], instance);
    if (--state.left_in_row[static_cast<std::size_t>(at.iteration % state.rows)] > 0) return;
    if (++state.completed == repeat.iterations) {
        release(repeat.exit, instance);
    } else {
        begin_iterations(index);
    }
}

void Player::begin_repeat(std::size_t index) {
    const Repeat& repeat = schedule_->repeats()[index];
    for (std::int64_t i = 0; i < repeat.window - 1 && i < repeat.iterations; ++i) {
        prepare(index, i);
    }
    begin_iterations(index);
}

// Sets an iteration's counters: its predecessors, and one more until it begins.
void Player::prepare(std::size_t index, std::int64_t iteration) {
    const Repeat& repeat = schedule_->repeats()[index];
    RepeatState& state = repeats_[index];
    const auto row = static_cast<std::size_t>(iteration % state.rows);
    state.iteration_in_row[row] = iteration;
    state.left_in_row[row] = repeat.ops;
    const Instance first = instance_of(index, repeat.first, iteration);
    for (std::uint32_t i = 0; i < repeat.ops; ++i) {
        missing_[first + i] = schedule_->in_degree()[repeat.first + i] + 1;
        if (!knowledge_.empty()) knowledge_[0].forget(first + i);
    }
    if (iteration >= repeat.window) return;
    // The first iterations have no predecessors in earlier ones.
    auto discount = [&](const Edge& edge) {
        if (edge.distance > iteration) --missing_[first + edge.to - repeat.first];
    };
    for (OpId op = repeat.first; repeat.holds(op); ++op) {
        for (const Edge& edge : schedule_->after_completion(op)) discount(edge);
        const Edge issue = schedule_->after_issue(op);
        if (issue.to != Schedule::no_issue) discount(issue);
    }
}

void Player::begin_iterations(std::size_t index) {
    const Repeat& repeat = schedule_->repeats()[index];
    RepeatState& state = repeats_[index];
    while (state.begun < repeat.iterations) {
        const std::int64_t iteration = state.begun;
        const std::int64_t earlier = iteration - repeat.window;
        if (earlier >= 0 && state.left_in_row[static_cast<std::size_t>(earlier % state.rows)] > 0) {
            return;
        }
        ++state.begun;
        const std::int64_t in_sight = iteration + repeat.window - 1;
        if (in_sight < repeat.iterations) prepare(index, in_sight);
        const Instance first = instance_of(index, repeat.first, iteration);
        for (std::uint32_t i = 0; i < repeat.ops; ++i) release(first + i, repeat.entry);
    }
}

}  // namespace weft::checking
