#include "run/run.h"

#include <algorithm>
#include <new>

#include "run/tagged_message.h"
#include "schedule/unattended.h"

namespace weft {
Run::Run(const Schedule& schedule) : schedule_(schedule) {
    make_state();
    if (schedule.scratch_bytes() > 0) {
        own_scratch_ = std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(schedule.scratch_bytes()));
        scratch_ = own_scratch_.get();
    }
}

Run::Run(const Schedule& rest, Run& whole)
    : schedule_(rest), scratch_(whole.scratch_), whole_(&whole) {
    make_state();
}

Run::~Run() = default;

bool Run::offer_to(Offload& offload, OffloadPlan& plan, const Offload::Start& start) {
    try {
        if (!offload.accepts(plan, lists_, start)) return false;
        if (!rest_) rest_.reset(new Run(lists_->tasks.rest, *this));
        return true;
    } catch (const std::bad_alloc&) {
        offload.note_no_memory();
        return false;  // the executor takes less
    }
}

void Run::make_message() {
    WEFT_ASSERT(schedule_.ops().size() == 1 && schedule_.ops()[0].kind == OpKind::join);
    message_ = std::make_unique<TaggedMessage>();
    message_->run = this;
}

void Run::make_state() {
    missing_.resize(schedule_.ops().size());
    outer_ops_ = static_cast<std::uint32_t>(missing_.size());
    for (const Repeat& repeat : schedule_.repeats()) {
        repeats_.emplace_back(schedule_, repeat, missing_);
        outer_ops_ -= repeat.ops;
    }
    for (const Op& op : schedule_.ops()) {
        const auto number = static_cast<std::size_t>(op.peer);
        if (op.kind == OpKind::call && number >= function_calls_.size())
            function_calls_.resize(number + 1);
    }
    ready_.resize(missing_.size());
    next_on_lane_.resize(schedule_.lanes().size());
    is_urgent_ = find_urgent(schedule_);
    urgent_ops_ = schedule_.repeats().empty()
                      ? static_cast<std::uint32_t>(std::ranges::count(is_urgent_, true))
                      : outer_ops_;
    for (OpId op = 0; op < is_urgent_.size(); ++op) {
        if (!is_urgent_[op]) unattended_bytes_ += schedule_.ops()[op].bytes;
    }
}

// Of this start's binding.
void Run::use_stand_ins() {
    given_send_ = binding_.send;
    given_recv_ = binding_.recv;
    const std::int64_t send = schedule_.stand_in(Buffer::send);
    const std::int64_t recv = schedule_.stand_in(Buffer::recv);
    if (send >= 0) binding_.send = scratch_ + send;
    if (recv >= 0) binding_.recv = scratch_ + recv;
}

std::int64_t Run::memory_bytes() const {
    return static_cast<std::int64_t>(sizeof *this + missing_.size() * 2 * sizeof(Instance)) +
           (own_scratch_ ? schedule_.scratch_bytes() : 0) + (lists_ ? lists_->memory_bytes() : 0) +
           (rest_ ? rest_->memory_bytes() : 0);
}

// A receive is late until it has completed (in a repeat: in all iterations); a send from when it is
// posted until it has completed.
bool Run::is_late(OpId op) const {
    const bool sends = schedule_.ops()[op].kind == OpKind::send;
    auto late = [&](Instance at) {
        return sends ? missing_[at] == 0 : missing_[at] != completed_mark;
    };
    const Repeat* repeat = schedule_.repeat_of(op);
    if (!repeat) return late(op);
    if (missing_[repeat->entry] != completed_mark) return !sends;
    const RepeatState& state =
        repeats_[static_cast<std::size_t>(repeat - schedule_.repeats().data())];
    if (!sends && state.begun() < repeat->iterations) return true;
    // Only the last iterations begun, a window at most, may not have completed.
    std::int64_t oldest = std::max<std::int64_t>(state.begun() - repeat->window, 0);
    for (std::int64_t i = oldest; i < state.begun(); ++i) {
        if (late(state.instance(op, i))) return true;
    }
    return false;
}

std::vector<Rank> Run::late_peers(bool sends) const {
    std::vector<Rank> late;
    if (message_) {
        const Rank peer = message_->known_peer();
        if (message_->sends == sends && peer >= 0) late.push_back(stream_->member(peer));
        return late;
    }
    if (runs_as_lists_) {
        late = rest_->late_peers(sends);
        lists_->add_late(sends, late);
        std::ranges::sort(late);
        late.erase(std::ranges::unique(late).begin(), late.end());
        return late;
    }
    for (std::size_t lane = 0; lane < schedule_.lanes().size(); ++lane) {
        const ScheduleLane& l = schedule_.lanes()[lane];
        if (l.sends != sends) continue;
        for (OpId op = 0; op < schedule_.ops().size(); ++op) {
            if (schedule_.lane_of(op) != static_cast<std::int32_t>(lane) || !is_late(op)) continue;
            late.push_back(stream_->member(l.peer));
            break;
        }
    }
    std::ranges::sort(late);
    return late;
}

}  // namespace weft
