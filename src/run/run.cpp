#include "run/run.h"

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

}  // namespace weft
