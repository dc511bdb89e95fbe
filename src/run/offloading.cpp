#include "run/offloading.h"

#include <algorithm>
#include <numeric>

namespace weft {

Run& Offloading::take_offered(Way way) {
    Run& run = *offered_.front();
    offered_.pop();
    if (way == Way::here && run.may_run_as_lists_) count(Fallback::waited_for);
    return run;
}

void Offloading::forget(const Group& group) {
    offered_.remove_if([&](const Run* run) { return &run->stream_->group() == &group; });
}

bool Offloading::begin_lists(Run& run) {
    if (!reserve_lists(run)) return false;
    ++begun_;
    run.runs_as_lists_ = true;
    Run& rest = *run.lists_->rest;
    WEFT_ASSERT(!rest.active_ && !rest.queued_);
    rest.stream_ = run.stream_;
    rest.binding_ = run.binding_;
    rest.function_host_ = run.function_host_;
    rest.failure_.code = WEFT_OK;
    rest.active_ = true;
    rest.unfinished_ = rest.outer_ops_;
    offload_->begin(*run.lists_->lists, *run.stream_, run.binding_, run.scratch_);
    return true;
}

bool Offloading::reserve_lists(Run& run) {
    if (!run.may_run_as_lists_) return false;
    if (!offload_->carries(run.lists_->tasks, *run.stream_)) {
        count(Fallback::without_connection);
        return false;
    }
    // Lists take their places on their connections at once. An earlier run of the executor may
    // still have messages to post there.
    const bool is_clear = std::ranges::all_of(run.lists_->tasks.lists, [&](const TaskList& list) {
        return run.stream_->last_on_lane(list.peer, list.sends).run == nullptr;
    });
    if (!is_clear) {
        count(Fallback::behind_others);
        return false;
    }
    if (!offload_->reserve(run.lists_->tasks, *run.stream_)) {
        count(Fallback::without_descriptors);
        return false;
    }
    return true;
}

std::string Offloading::summary() const {
    static constexpr std::array<const char*, fallbacks> reasons = {
        "on streams without dedicated connections",
        "for lack of descriptors",
        "behind operations that are not",
        "waited for before they began",
        "over several interfaces",
        "on a shared core",
        "that do not pay",
        "of too many segments",
        "without a thread that may submit them",
        "for lack of memory",
    };
    const std::uint64_t here =
        std::accumulate(fallen_back_.begin(), fallen_back_.end(), std::uint64_t{0});
    if (begun_ + here == 0) return "";
    std::string text =
        std::to_string(begun_) + " operations offloaded, " + std::to_string(here) + " not";
    const char* separator = ": ";
    for (std::size_t i = 0; i < fallbacks; ++i) {
        if (fallen_back_[i] == 0) continue;
        text += separator + std::to_string(fallen_back_[i]) + " " + reasons[i];
        separator = ", ";
    }
    return text;
}

}  // namespace weft
