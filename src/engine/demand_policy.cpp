#include "engine/demand_policy.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace weft {

DemandPolicy::DemandPolicy(Executor& executor, bool is_wanted)
    : executor_(executor),
      is_on_(is_wanted && std::ranges::any_of(executor.sources(), [](const auto* source) {
                 return source->abilities().knows_demand;
             })) {
    if (is_on_) demand(Demand::none);
}

bool DemandPolicy::demand(Demand how) {
    if (how != Demand::none && executor_.all_runs_are_eager()) return false;
    demands_ = how != Demand::none;
    bool woke = false;
    for (CompletionSource* source : executor_.sources()) woke |= source->demand(how);
    return woke;
}

bool DemandPolicy::escalate(std::int64_t& begin_ns, std::int64_t now) {
    if (begin_ns == 0) begin_ns = now;
    return demand(now - begin_ns < wakes_after_ns ? Demand::quiet : Demand::wakes);
}

void DemandPolicy::note_timeout() {
    has_tested_ = true;
    finished_before_test_ = executor_.finished();
    demand_by_testing(now_ns());
}

void DemandPolicy::begin_outside() {
    demands_outside_ = true;
    demand(Demand::wakes);
}

void DemandPolicy::end_outside(bool is_led) {
    demands_outside_ = false;
    if (!is_led && !waits_by_testing_) demand(Demand::none);
}

void DemandPolicy::begin_test() {
    polls_with_test_ = has_tested_ = true;
    finished_before_test_ = executor_.finished();
}

void DemandPolicy::demand_by_testing(std::int64_t now) {
    if (!std::exchange(waits_by_testing_, true)) tested_ns_ = 0;
    escalate(tested_ns_, now);
}

void DemandPolicy::end_call(bool is_led) {
    const bool has_tested = std::exchange(has_tested_, false);
    if (has_tested && executor_.finished() == finished_before_test_) return;
    if (std::exchange(waits_by_testing_, false) && !is_led && !demands_outside_)
        demand(Demand::none);
}

bool DemandPolicy::is_demanded() const {
    return !is_on_ || polls_with_test_ || executor_.is_eager() ||
           std::ranges::any_of(executor_.sources(), &CompletionSource::is_demanded);
}

}  // namespace weft
