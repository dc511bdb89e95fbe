#include "run/run.h"

#include <algorithm>

namespace weft {

Run::Run(const Schedule& schedule) : schedule_(schedule) {
    std::size_t instances = schedule.ops().size();
    outer_ops_ = static_cast<std::uint32_t>(instances);
    for (const Repeat& repeat : schedule.repeats()) {
        RepeatState state;
        state.first_instance = static_cast<Instance>(instances);
        state.iteration_in_row.resize(2 * repeat.window);
        state.left_in_row.resize(2 * repeat.window);
        instances += 2 * std::size_t{repeat.window} * repeat.ops;
        outer_ops_ -= repeat.ops;
        repeats_.push_back(std::move(state));
    }
    missing_.resize(instances);
    ready_.resize(instances);
    next_on_lane_.resize(schedule.lanes().size());
    if (schedule.scratch_bytes() > 0) {
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(schedule.scratch_bytes()));
    }
}

std::int64_t Run::memory_bytes() const {
    return static_cast<std::int64_t>(sizeof *this + missing_.size() * 2 * sizeof(Instance)) +
           schedule_.scratch_bytes();
}

// In a repeat: in all iterations.
bool Run::is_completed(OpId op) const {
    const Repeat* repeat = schedule_.repeat_of(op);
    if (!repeat) return missing_[op] == completed_mark;
    const RepeatState& state =
        repeats_[static_cast<std::size_t>(repeat - schedule_.repeats().data())];
    if (missing_[repeat->entry] != completed_mark || state.started < repeat->iterations) {
        return false;
    }
    // The last iterations, a window at most, are the only ones that may be left.
    std::int64_t rows = 2 * std::int64_t{repeat->window};
    for (std::int64_t i = state.started - 1; i >= 0 && i >= state.started - repeat->window; --i) {
        auto row = static_cast<Instance>(i % rows);
        Instance at = state.first_instance + row * repeat->ops + (op - repeat->first);
        if (missing_[at] != completed_mark) return false;
    }
    return true;
}

std::vector<Rank> Run::late_peers(bool sends) const {
    std::vector<Rank> late;
    for (std::size_t lane = 0; lane < schedule_.lanes().size(); ++lane) {
        const ScheduleLane& l = schedule_.lanes()[lane];
        if (l.sends != sends) continue;
        for (OpId op = 0; op < schedule_.ops().size(); ++op) {
            if (schedule_.lane_of(op) != static_cast<std::int32_t>(lane) || is_completed(op)) {
                continue;
            }
            late.push_back(stream_->member(l.peer));
            break;
        }
    }
    std::ranges::sort(late);
    return late;
}

}  // namespace weft
