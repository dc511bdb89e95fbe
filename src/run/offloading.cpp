#include "run/offloading.h"

#include <algorithm>

namespace weft {

Run& Offloading::take_offered() {
    Run& run = *offered_.front();
    offered_.pop();
    return run;
}

void Offloading::forget(const Group& group) {
    offered_.remove_if([&](const Run* run) { return &run->stream_->group() == &group; });
}

bool Offloading::begin_lists(Run& run) {
    if (!may_begin_lists(run)) return false;
    ++begun_;
    run.runs_as_lists_ = true;
    Run& rest = *run.lists_->rest;
    WEFT_ASSERT(!rest.active_ && !rest.queued_);
    rest.stream_ = run.stream_;
    rest.binding_ = run.binding_;
    rest.failure_.code = WEFT_OK;
    rest.active_ = true;
    rest.unfinished_ = rest.outer_ops_;
    offload_->begin(*run.lists_->lists, *run.stream_, run.binding_, run.scratch_);
    return true;
}

bool Offloading::may_begin_lists(Run& run) {
    if (!run.may_run_as_lists_) return false;
    if (!offload_->carries(run.lists_->tasks, *run.stream_)) {
        ++fallbacks_.without_connection;
        return false;
    }
    // Lists take their places on their connections at once. An earlier run of the executor's may
    // still have messages to post there.
    const bool is_clear = std::ranges::all_of(run.lists_->tasks.lists, [&](const TaskList& list) {
        return run.stream_->last_on_lane(list.peer, list.sends).run == nullptr;
    });
    if (!is_clear) {
        ++fallbacks_.behind_others;
        return false;
    }
    if (!offload_->reserve(run.lists_->tasks, *run.stream_)) {
        ++fallbacks_.without_descriptors;
        return false;
    }
    return true;
}

std::string Offloading::summary() const {
    const std::uint64_t fell_back =
        fallbacks_.without_connection + fallbacks_.without_descriptors + fallbacks_.behind_others;
    if (begun_ + fell_back == 0) return "";
    std::string text =
        std::to_string(begun_) + " operations offloaded, " + std::to_string(fell_back) + " not";
    const char* separator = ": ";
    auto add = [&](std::uint64_t count, const char* why) {
        if (count == 0) return;
        text += separator + std::to_string(count) + " " + why;
        separator = ", ";
    };
    add(fallbacks_.without_connection, "on streams without dedicated connections");
    add(fallbacks_.without_descriptors, "for want of descriptors");
    add(fallbacks_.behind_others, "behind operations that are not");
    return text;
}

}  // namespace weft
