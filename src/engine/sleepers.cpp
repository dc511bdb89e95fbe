#include "engine/sleepers.h"

#include "base/assert.h"
#include "base/clock.h"

namespace weft {
namespace {

// A message of the wrong size does not end its list: a sleeping wait, or the progress thread while
// the program waits outside, looks at received headers at this interval.
constexpr std::int64_t look_at_lists_every_ns = 100'000'000;

}  // namespace

Sleepers::Sleepers(Executor& executor, const DemandPolicy& demands,
                   std::unique_ptr<Parking> parking)
    : executor_(executor),
      demands_(demands),
      backs_off_(std::ranges::any_of(executor.sources(),
                                     [](const auto* s) { return !s->abilities().can_sleep; })),
      parking_(std::move(parking)) {}

bool Sleepers::arm(Sleeper sleeper) {
    bool is_quiet = true;
    const bool on_demand = demands_.arms_on_demand(sleeper);
    for (CompletionSource* source : executor_.sources())
        is_quiet &= on_demand ? source->arm_on_demand() : source->arm(sleeper);
    note_armed(sleeper, on_demand, is_quiet);
    return is_quiet;
}

Sleepers::Sleep Sleepers::begin_sleep(Sleeper sleeper, std::int64_t deadline_ns) {
    Sleep sleep;
    sleep.parked = sleeper == Sleeper::none ? Sleeper::thread : sleeper;
    const bool rests = sleeper == Sleeper::waiter && leader_rests();
    for (CompletionSource* source : executor_.sources()) {
        WEFT_ASSERT(sleep.count < sleep.descriptors.size());
        if (source->abilities().can_sleep && sleeper != Sleeper::none && !rests)
            sleep.descriptors[sleep.count++] = source->wait_fd(sleeper);
    }
    std::int64_t left_ns = Parking::forever;
    if (deadline_ns != Parking::forever)
        left_ns = std::max<std::int64_t>(deadline_ns - now_ns(), 0);
    const bool backs_off = backs_off_ && sleeper != Sleeper::none && armed() == sleeper;
    if (backs_off) left_ns = std::min(left_ns, backoff.next_ns());
    // (Also for lists that begin while this thread sleeps.)
    const bool looks_at_lists =
        (sleeper == Sleeper::waiter || executor_.is_awaited_outside()) && executor_.has_lists();
    if (looks_at_lists) left_ns = std::min(left_ns, look_at_lists_every_ns);
    if (sleeper == Sleeper::thread) {
        thread_backs_off_ = backs_off;
        thread_looks_at_lists_ = looks_at_lists;
    }
    sleep.timeout_ns = left_ns;
    return sleep;
}

void Sleepers::end_sleep(Sleeper sleeper, Parking::Woken woken) {
    if (sleeper == Sleeper::thread) thread_backs_off_ = thread_looks_at_lists_ = false;
    if (woken.by_unpark)
        parking_->acknowledge(sleeper == Sleeper::none ? Sleeper::thread : sleeper);
    if (!woken.by_descriptor && !woken.by_unpark) return;  // the caller looks
    // A peer that rings the doorbell resets `armed` in shared memory, so it must be armed again.
    // Sockets stay armed.
    if (woken.by_descriptor) note_rung(sleeper);
    if (sleeper == Sleeper::none) return;
    for (CompletionSource* source : executor_.sources()) source->acknowledge(sleeper);
}

}  // namespace weft
