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
        repeats_.emplace_back(schedule, repeat, missing_);
    }
    if (learns) knowledge_.emplace_back(schedule.rank(), schedule.ranks(), missing_.size());
}

RepeatState::Position Player::place(Instance instance) const {
    const RepeatState* state = repeat_at(repeats_, instance);
    return state ? state->position(instance) : RepeatState::Position{instance, 0};
}

Op Player::op(Instance instance) const {
    const RepeatState::Position at = place(instance);
    return schedule_->at(at.op, at.iteration);
}

void Player::start() {
    for (OpId root : schedule_->roots()) ready_->push_back({schedule_->rank(), root});
}

void Player::release(Instance instance, Instance because_of) {
    if (!knowledge_.empty()) knowledge_[0].learn(instance, knowledge_[0], because_of);
    if (--missing_[instance] == 0) ready_->push_back({schedule_->rank(), instance});
}

void Player::follow(Edge edge, Instance from) {
    if (const RepeatState* state = repeat_at(repeats_, from)) {
        state->follow(edge, state->position(from).iteration,
                      [&](Instance next) { release(next, from); });
    } else {
        release(edge.to, from);
    }
}

void Player::issued(Instance instance) {
    const Edge next = schedule_->after_issue(place(instance).op);
    if (next.to != Schedule::no_issue) follow(next, instance);
}

void Player::completed(Instance instance) {
    const RepeatState::Position at = place(instance);
    missing_[instance] = done;
    if (!knowledge_.empty()) knowledge_[0].finish(instance);
    for (const Edge& edge : schedule_->after_completion(at.op)) follow(edge, instance);

    if (RepeatState* state = repeat_at(repeats_, instance)) {
        const Repeat& repeat = state->repeat();
        if (!knowledge_.empty()) {
            knowledge_[0].learn(repeat.exit, knowledge_[0], instance);
            knowledge_[0].forget(instance);  // a later iteration's from now on
        }
        state->complete(at.iteration, missing_,
                        [&](Instance next) { release(next, repeat.entry); });
        return;
    }
    for (RepeatState& state : repeats_) {
        if (state.repeat().entry != at.op) continue;
        state.begin(missing_, [&](Instance next) { release(next, instance); });
    }
}

}  // namespace weft::checking
