#include "engine/offload_policy.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace weft {
namespace {

// Lists write out repeats, and take some 300 bytes an operation.
constexpr std::int64_t listed_ops_max = 1 << 15;

bool is_too_long(const Schedule& schedule) {
    auto ops = static_cast<std::int64_t>(schedule.ops().size());
    for (const Repeat& repeat : schedule.repeats()) ops += repeat.ops * (repeat.iterations - 1);
    return ops > listed_ops_max;
}

// Compiles the messages worth offloading (or all) to peers that `reaches`; null: there are none.
template <class Reaches>
std::unique_ptr<Tasks> compile_for_offload(const Schedule& schedule, bool all, Reaches reaches) {
    std::vector<bool> can;
    for (const ScheduleLane& lane : schedule.lanes()) can.push_back(reaches(lane.peer));
    const std::vector<bool> worth = all ? can : worth_offloading(schedule, can);
    if (std::ranges::find(worth, true) == worth.end()) return nullptr;
    return std::make_unique<Tasks>(compile_tasks(schedule, worth));
}

// What engine auto offloads: schedules that only move data over the network, in dependent steps.
bool pays(const Schedule& schedule, const Tasks& tasks) {
    const bool only_moves = std::ranges::none_of(
        schedule.ops(), [](const Op& op) { return op.reduces() || op.kind == OpKind::call; });
    return only_moves && tasks.semaphores > 0 && tasks.lists.size() == schedule.lanes().size();
}

}  // namespace

void OffloadPolicy::set_engine(const EngineTraits& engine) {
    engine_ = &engine;
    if (offload() != nullptr) offload()->set_own(engine.needs_joiner);
}

Status OffloadPolicy::check_starter() const {
    if (!engine_->needs_joiner || offload() == nullptr || offload()->may_own()) return ok;
    return failure(WEFT_REFUSED_STATE,
                   "the engine is %s, whose operations are started by the thread that called "
                   "weft_init alone; expected that thread, or another engine",
                   engine_->name);
}

Executor::Way OffloadPolicy::prepare(Run& run, OffloadPlan& plan, const Group& group, Start start) {
    if (offload() == nullptr) return Executor::Way::here;
    // A thread that waits drives the run itself just as well.
    const bool is_driven = start.waits || (!engine_->needs_joiner && start.is_driven);
    if (is_driven && !options_.offers_all) {
        count_choice(Offloading::Fallback::waited_for);
        return Executor::Way::here;
    }
    // (Another thread than the joiner starts only calls of the library's own.)
    const bool has_owner = engine_->needs_joiner ? offload()->may_own() : start.has_thread;
    if (!has_owner) {
        count_choice(Offloading::Fallback::without_owner);
        return Executor::Way::here;
    }
    try {
        if (!prepare_lists(run, plan, group)) return Executor::Way::here;
    } catch (const std::bad_alloc&) {
        executor_.offloading().count(Offloading::Fallback::without_memory);
        return Executor::Way::here;  // it takes less
    }
    return engine_->needs_joiner ? Executor::Way::lists : Executor::Way::offered;
}

// False: the run has no lists, or they do not pay.
bool OffloadPolicy::prepare_lists(Run& run, OffloadPlan& plan, const Group& group) {
    if (engine_->only_where_it_pays && options_.has_several_interfaces && group.dedicated == 0) {
        count_choice(Offloading::Fallback::several_interfaces);
        return false;
    }
    if (engine_->only_where_it_pays && !options_.has_own_core) {
        count_choice(Offloading::Fallback::shares_core);
        return false;
    }
    const Schedule& schedule = run.schedule();
    if (!plan.was_compiled) {
        const auto reaches = [&](Rank peer) {
            Transport* route = executor_.route(group.members[static_cast<std::size_t>(peer)]);
            return route != nullptr && route->dedicated_connections() != nullptr;
        };
        const bool is_candidate =
            std::ranges::any_of(schedule.lanes(), reaches, &ScheduleLane::peer);
        plan.is_too_long = is_candidate && is_too_long(schedule);
        if (!plan.is_too_long)
            plan.tasks = compile_for_offload(schedule, options_.offers_all, reaches);
        plan.pays = plan.tasks && pays(schedule, *plan.tasks);
        plan.was_compiled = true;
    }
    if (plan.is_too_long) {
        executor_.offloading().count(Offloading::Fallback::too_long);
        return false;
    }
    if (engine_->only_where_it_pays && !plan.pays) {
        count_choice(Offloading::Fallback::does_not_pay);
        return false;
    }
    if (!plan.tasks) return false;
    if (run.has_lists()) return true;
    if (!plan.was_refused && run.prepare_lists(*plan.tasks, *offload()).is_ok()) return true;
    plan.was_refused = true;
    executor_.offloading().count(Offloading::Fallback::without_descriptors);
    return false;
}

void OffloadPolicy::count_choice(Offloading::Fallback why) {
    if (engine_->only_where_it_pays) executor_.offloading().count(why);
}

bool OffloadPolicy::submit() {
    if (!offload()->may_own() || executor_.offloading().has_offered()) return false;
    offload()->submit();
    return true;
}

void OffloadPolicy::begin_and_submit() {
    if (!executor_.offloading().needs_owner()) return;
    executor_.settle_offered(Executor::Way::lists);
    offload()->submit();
}

bool OffloadPolicy::is_busy() const {
    return offload() != nullptr && (offload()->is_busy() || executor_.offloading().needs_owner());
}

bool OffloadPolicy::find_new_descriptor() {
    const int descriptor = offload() != nullptr ? offload()->wait_fd(Sleeper::waiter) : -1;
    return std::exchange(descriptor_, descriptor) != descriptor;
}

}  // namespace weft
