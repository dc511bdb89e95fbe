#include "offload/offload.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// Lists write out repeats, and take some 300 bytes an operation.
constexpr std::int64_t listed_ops_max = 1 << 15;

bool is_too_long(const Schedule& schedule) {
    auto ops = static_cast<std::int64_t>(schedule.ops().size());
    for (const Repeat& repeat : schedule.repeats()) ops += repeat.ops * (repeat.iterations - 1);
    return ops > listed_ops_max;
}

// What engine auto offloads: schedules that only move data over the network, in dependent steps.
bool only_moves_in_steps(const Schedule& schedule, const Tasks& tasks) {
    const bool only_moves = std::ranges::none_of(
        schedule.ops(), [](const Op& op) { return op.reduces() || op.kind == OpKind::call; });
    const auto lanes = static_cast<std::size_t>(
        std::ranges::count_if(tasks.lists, [](const TaskList& list) { return !list.is_control; }));
    return only_moves && tasks.dependences > 0 && lanes == schedule.lanes().size();
}

}  // namespace

enum class Offload::Decline : std::uint8_t {
    no_connection,
    no_descriptors,
    behind_others,
    waited_for,
    several_interfaces,  // this and the next two only with engine auto
    shared_core,
    does_not_pay,
    too_long,
    no_owner,
    no_memory,
};
constexpr std::array decline_reasons = {
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

Offload::Offload(const std::vector<Transport*>& routes, Options options)
    : options_(options), joiner_(pthread_self()) {
    for (Transport* route : routes)
        connections_.push_back(route != nullptr ? route->dedicated_connections() : nullptr);
}

Status Offload::refuse_starter() const {
    return failure(WEFT_REFUSED_STATE,
                   "the engine is %s, whose operations are started by the thread that called "
                   "weft_init alone; expected that thread, or another engine",
                   engine_->name);
}

bool Offload::accepts(OffloadPlan& plan, std::unique_ptr<Lists>& lists, const Start& start) {
    // A thread that waits drives the run itself just as well.
    const bool is_driven = start.waits || (!engine_->needs_joiner && start.is_driven);
    if (is_driven && !options_.offers_all) return decline_by_choice(Decline::waited_for);
    // (Another thread than the joiner starts only calls of the library's own.)
    const bool has_owner = engine_->needs_joiner ? may_own() : start.has_thread;
    if (!has_owner) return decline_by_choice(Decline::no_owner);
    if (engine_->only_where_it_pays && options_.has_several_interfaces && !start.has_dedicated)
        return decline(Decline::several_interfaces);
    if (engine_->only_where_it_pays && !options_.has_own_core) return decline(Decline::shared_core);
    if (!plan.was_compiled) compile(plan, start.members);
    if (plan.is_too_long) return decline(Decline::too_long);
    if (engine_->only_where_it_pays && !plan.pays) return decline(Decline::does_not_pay);
    if (!plan.tasks) return false;
    if (lists) return true;
    if (!plan.was_refused) {
        Result<std::unique_ptr<Lists>> made = make(*plan.tasks);
        if (made.is_ok()) {
            lists = std::move(*made);
            return true;
        }
    }
    plan.was_refused = true;
    return decline(Decline::no_descriptors);
}

// Takes the messages worth offloading (or all) to peers with dedicated connections.
void Offload::compile(OffloadPlan& plan, std::span<const Rank> members) const {
    std::vector<bool> offloaded;
    auto cleared_bytes_min = static_cast<std::int64_t>(DedicatedConnections::none_is_cleared);
    for (const ScheduleLane& lane : plan.schedule.lanes()) {
        const DedicatedConnections* connections =
            connections_to(members[static_cast<std::size_t>(lane.peer)]);
        offloaded.push_back(connections != nullptr);
        if (connections != nullptr)
            cleared_bytes_min = static_cast<std::int64_t>(connections->cleared_bytes_min());
    }
    const auto has_any = [&] { return std::ranges::find(offloaded, true) != offloaded.end(); };
    plan.is_too_long = has_any() && is_too_long(plan.schedule);
    if (!plan.is_too_long && has_any()) {
        if (!options_.offers_all)
            offloaded = worth_offloading(plan.schedule, offloaded, cleared_bytes_min);
        if (has_any())
            plan.tasks = std::make_unique<Tasks>(
                compile_tasks(plan.schedule, offloaded, Protocol::rendezvous, cleared_bytes_min));
    }
    plan.pays = plan.tasks && only_moves_in_steps(plan.schedule, *plan.tasks);
    plan.was_compiled = true;
}

bool Offload::admits(const Lists& lists, const Call& call, bool is_clear) {
    const bool is_carried = std::ranges::all_of(lists.tasks.lists, [&](const TaskList& list) {
        const Rank peer = call.member(list.peer);
        const DedicatedConnections* connections = connections_to(peer);
        return connections != nullptr && connections->carries({peer, call.stream});
    });
    if (!is_carried) return decline(Decline::no_connection);
    // Lists take their places on their connections at once. An earlier run of the executor may
    // still have messages to post there.
    if (!is_clear) return decline(Decline::behind_others);
    if (!reserve(lists.tasks, call)) return decline(Decline::no_descriptors);
    ++begun_;
    return true;
}

bool Offload::decline(Decline why) {
    ++declined_[static_cast<std::size_t>(why)];
    return false;
}

// Only engine auto has chosen the executor.
bool Offload::decline_by_choice(Decline why) { return engine_->only_where_it_pays && decline(why); }

void Offload::note_no_memory() { decline(Decline::no_memory); }

void Offload::note_waited_for() { decline(Decline::waited_for); }

std::string Offload::summary() const {
    static_assert(decline_reasons.size() == declines);
    const std::uint64_t here =
        std::accumulate(declined_.begin(), declined_.end(), std::uint64_t{0});
    if (begun_ + here == 0) return "";
    std::string text =
        std::to_string(begun_) + " operations offloaded, " + std::to_string(here) + " not";
    const char* separator = ": ";
    for (std::size_t i = 0; i < declines; ++i) {
        if (declined_[i] == 0) continue;
        text += separator + std::to_string(declined_[i]) + " " + decline_reasons[i];
        separator = ", ";
    }
    return text;
}

bool wants_dedicated(EngineKind engine, bool has_several_interfaces) {
    const EngineTraits& wishes = traits(engine);
    return wishes.offloads && !(wishes.only_where_it_pays && has_several_interfaces);
}

std::uint32_t agreed_streams(std::span<const DedicatedShare> members) {
    if (members.size() < 2) return 0;
    std::uint32_t streams = DedicatedConnections::streams_max;
    bool is_wanted = false;
    for (const DedicatedShare& member : members) {
        streams = std::min(streams, member.streams_left);
        is_wanted |= member.is_wanted != 0;
    }
    return is_wanted ? streams : 0;
}

}  // namespace weft
