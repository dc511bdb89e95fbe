#include "offload/task_lists.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "schedule/builder.h"
#include "schedule/repeats.h"
#include "schedule/unattended.h"

namespace weft {
namespace {

// A join with more than this many predecessors in lists and more than this many successors stays a
// join in the rest: it would need a semaphore for each pair of them.
constexpr std::size_t seen_through_max = 8;

// A message of a list, counted from 0.
struct TaskId {
    std::uint32_t list;
    std::uint32_t position;

    auto operator<=>(const TaskId&) const = default;
};

// The things that a step waits for, with joins replaced by their predecessors: the furthest message
// of every list, and operations of the rest.
struct Before {
    std::vector<TaskId> places;
    std::vector<OpId> rest;

    void add(const Before& more) {
        places.insert(places.end(), more.places.begin(), more.places.end());
        rest.insert(rest.end(), more.rest.begin(), more.rest.end());
    }

    void tidy() {
        std::ranges::sort(places, std::greater());
        auto same = std::ranges::unique(places, {}, &TaskId::list);
        places.erase(same.begin(), same.end());
        std::ranges::reverse(places);
        std::ranges::sort(rest);
        auto twice = std::ranges::unique(rest);
        rest.erase(twice.begin(), twice.end());
    }
};

class Compiler {
  public:
    Compiler(const Schedule& schedule, const std::vector<bool>& offloaded, Protocol protocol,
             std::int64_t cleared_bytes_min)
        : schedule_(schedule),
          protocol_(protocol),
          cleared_bytes_min_(cleared_bytes_min),
          steps_(unroll(schedule)) {
        before_.resize(steps_.size());
        make_lists(offloaded);
    }

    Tasks compile() {
        follow_steps();
        for (std::uint32_t list = 0; list < tasks_.lists.size(); ++list) {
            await({list, tasks_.lists[list].messages - 1});
        }
        number_reports();
        fill_lists();
        seal_rest();
        return std::move(tasks_);
    }

  private:
    static constexpr std::uint32_t no_list = ~std::uint32_t{0};

    struct RestOp {
        Op op;
        std::vector<OpId> after;
    };

    struct Semaphore {
        std::uint32_t number;
        std::uint32_t position;  // of the last message waited for
    };

    // A task and its position: before the message at `place`, the message itself, or after it.
    struct Note {
        enum class Side : std::uint8_t { before, message, enable, report };
        TaskId place;
        Side side;
        Task task;

        auto position() const { return std::tuple(place, side); }
        std::uint32_t list() const { return place.list; }
    };

    bool needs_cts(const Op& op) const {
        return protocol_ == Protocol::rendezvous && op.bytes >= cleared_bytes_min_;
    }

    void make_lists(const std::vector<bool>& offloaded) {
        std::vector<bool> has_ctss(offloaded.size());
        for (const Step& step : steps_) {
            if (step.what.is_message() && needs_cts(step.what))
                has_ctss[static_cast<std::size_t>(schedule_.lane_of(step.id))] = true;
        }
        for (std::size_t lane = 0; lane < schedule_.lanes().size(); ++lane) {
            const ScheduleLane& l = schedule_.lanes()[lane];
            list_of_lane_.push_back(no_list);
            if (!offloaded[lane]) continue;
            list_of_lane_.back() = static_cast<std::uint32_t>(tasks_.lists.size());
            tasks_.lists.push_back({.peer = l.peer, .sends = l.sends});
            if (!has_ctss[lane]) continue;
            tasks_.lists.push_back({.peer = l.peer, .sends = !l.sends, .is_control = true});
        }
        enable_of_list_.assign(tasks_.lists.size(), no_op);
    }

    std::uint32_t list_of(const Step& step) const {
        return step.what.is_message()
                   ? list_of_lane_[static_cast<std::size_t>(schedule_.lane_of(step.id))]
                   : no_list;
    }

    // Compiles each step after those it waits for, and the messages of a lane in order of issue;
    // otherwise in schedule order.
    void follow_steps() {
        std::vector<std::uint32_t> missing;
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
        auto release = [&](std::uint32_t step) {
            if (--missing[step] == 0) ready.push(step);
        };
        for (std::uint32_t s = 0; s < steps_.size(); ++s) {
            missing.push_back(steps_[s].in_degree + 1);
            release(s);
        }
        while (!ready.empty()) {
            const std::uint32_t s = ready.top();
            ready.pop();
            const Before as = take(steps_[s], std::exchange(before_[s], {}));
            for (std::uint32_t next : steps_[s].after_completion) {
                before_[next].add(as);
                release(next);
            }
            for (std::uint32_t next : steps_[s].after_issue) release(next);
        }
    }

    // Compiles a step. Returns what its successors have to wait for.
    Before take(const Step& step, Before before) {
        before.tidy();
        if (const std::uint32_t list = list_of(step); list != no_list) {
            return {{take_message(step.what, list, std::move(before))}, {}};
        }
        if (step.what.kind != OpKind::join) return {{}, {add_rest(step.what, before)}};
        if (std::min(before.places.size(), step.after_completion.size()) > seen_through_max) {
            return {{}, {add_rest(step.what, before)}};
        }
        if (before.rest.size() > 1) before.rest = {add_rest(step.what, {{}, before.rest})};
        return before;
    }

    TaskId take_message(const Op& op, std::uint32_t list, Before before) {
        const bool sends = op.kind == OpKind::send;
        const bool needs = needs_cts(op);
        std::optional<TaskId> cts;
        if (needs && sends) {
            cts = append(list + 1, {.kind = Task::Kind::cleared}, {});
        } else if (needs) {
            // The CTS waits until the buffer is free.
            const bool waits = !before.places.empty() || !before.rest.empty();
            const TaskId clear = append(list + 1, {.kind = Task::Kind::clear}, before);
            if (waits) before = {{clear}, {}};
        }
        return append(list,
                      {.kind = sends ? Task::Kind::send : Task::Kind::recv,
                       .needs_cts = needs,
                       .region = sends ? op.from() : op.into()},
                      before, cts);
    }

    // Appends a message to a list, after the tasks that wait for its predecessors, and then for its
    // CTS.
    TaskId append(std::uint32_t list, const Task& message, const Before& before,
                  std::optional<TaskId> cts = {}) {
        const TaskId at{list, tasks_.lists[list].messages++};
        for (TaskId place : before.places) wait(place, at);
        go(before.rest, at);
        if (cts) wait(*cts, at);
        notes_.push_back({at, Note::Side::message, message});
        return at;
    }

    void wait(TaskId before, TaskId at) {
        if (before.list == at.list) return;  // a list is in order anyway
        auto [entry, is_new] = semaphores_.try_emplace(std::pair(before.list, at.list));
        Semaphore& semaphore = entry->second;
        if (is_new) {
            semaphore.number = tasks_.semaphores++;
            const bool is_of_cts =
                before.list == at.list + 1 && tasks_.lists[before.list].is_control;
            tasks_.dependences += is_of_cts ? 0 : 1;
        } else if (before.position <= semaphore.position) {
            return;  // an earlier message of the list has already waited for it
        }
        semaphore.position = before.position;
        notes_.push_back(
            {at, Note::Side::before, {.kind = Task::Kind::wait, .number = semaphore.number}});
        notes_.push_back(
            {before, Note::Side::enable, {.kind = Task::Kind::enable, .number = semaphore.number}});
    }

    void go(const std::vector<OpId>& rest, TaskId at) {
        Before before;
        for (OpId op : rest) {
            if (waited_for_.emplace(at.list, op).second) before.rest.push_back(op);
        }
        if (before.rest.empty()) return;
        OpId& enable = enable_of_list_[at.list];
        if (enable != no_op) before.rest.push_back(enable);
        enable = add_rest({.kind = OpKind::enable, .peer = static_cast<Rank>(at.list)}, before);
        notes_.push_back({at, Note::Side::before, {.kind = Task::Kind::go}});
    }

    OpId add_rest(const Op& op, const Before& before) {
        std::vector<OpId> after = before.rest;
        for (TaskId place : before.places) after.push_back(await(place));
        rest_.push_back({op, std::move(after)});
        return static_cast<OpId>(rest_.size()) - 1;
    }

    OpId await(TaskId place) {
        auto [entry, is_new] = awaits_.try_emplace(place, static_cast<OpId>(rest_.size()));
        if (is_new) {
            rest_.push_back({{.kind = OpKind::await, .peer = static_cast<Rank>(place.list)}, {}});
        }
        return entry->second;
    }

    void number_reports() {
        for (TaskList& list : tasks_.lists) list.reports = 0;
        for (auto [place, op] : awaits_) {
            TaskList& list = tasks_.lists[place.list];
            rest_[op].op.from_offset = list.reports;
            if (place.position + 1 < list.messages) {
                notes_.push_back({place,
                                  Note::Side::report,
                                  {.kind = Task::Kind::report, .number = list.reports}});
            }
            ++list.reports;
        }
    }

    void fill_lists() {
        std::ranges::stable_sort(notes_, {}, &Note::position);
        for (std::uint32_t list = 0; list < tasks_.lists.size(); ++list) {
            std::vector<Task>& tasks = tasks_.lists[list].tasks;
            const auto own = std::ranges::equal_range(notes_, list, {}, &Note::list);
            tasks.reserve(own.size());
            for (const Note& note : own) tasks.push_back(note.task);
        }
    }

    void seal_rest() {
        ScheduleBuilder rest(schedule_.rank(), schedule_.ranks());
        rest.scratch(schedule_.scratch_bytes());
        for (const RestOp& op : rest_) rest.add(op.op, op.after);
        Result<Schedule> sealed = rest.seal();
        WEFT_ASSERT(sealed.is_ok());
        tasks_.rest = std::move(*sealed);
    }

    const Schedule& schedule_;
    const Protocol protocol_;
    const std::int64_t cleared_bytes_min_;
    std::vector<Step> steps_;
    std::vector<Before> before_;  // by step, as far as known
    std::vector<std::uint32_t> list_of_lane_;
    Tasks tasks_;
    std::vector<Note> notes_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Semaphore> semaphores_;  // by its two lists
    std::vector<RestOp> rest_;
    std::map<TaskId, OpId> awaits_;
    std::vector<OpId> enable_of_list_;                     // by list: the last enable
    std::set<std::pair<std::uint32_t, OpId>> waited_for_;  // by lists: operations of the rest
};

// By operation: whether it comes after a receive.
std::vector<bool> find_after_receive(const Schedule& schedule) {
    std::vector<bool> after(schedule.ops().size());
    for (OpId op = 0; op < after.size(); ++op) {
        if (!after[op] && schedule.ops()[op].kind != OpKind::recv) continue;
        for (Edge edge : schedule.after_completion(op)) after[edge.to] = true;
    }
    return after;
}

}  // namespace

std::int64_t Tasks::memory_bytes() const {
    std::size_t bytes = sizeof *this - sizeof rest + lists.capacity() * sizeof(TaskList);
    for (const TaskList& list : lists) bytes += list.tasks.capacity() * sizeof(Task);
    return static_cast<std::int64_t>(bytes) + rest.memory_bytes();
}

std::vector<bool> worth_offloading(const Schedule& schedule, const std::vector<bool>& can,
                                   std::int64_t cleared_bytes_min) {
    WEFT_ASSERT(can.size() == schedule.lanes().size());
    if (!is_in_order(schedule)) return can;
    const std::vector<bool> is_urgent = find_urgent(schedule);
    const std::vector<bool> is_after_receive = find_after_receive(schedule);
    std::vector<bool> gains(can.size());  // by lane, regardless of the others
    UnattendedLoad left;                  // sends of the other lanes
    auto for_each_message = [&](auto body) {
        for (OpId op = 0; op < schedule.ops().size(); ++op) {
            const std::int32_t lane = schedule.lane_of(op);
            if (lane >= 0) body(op, schedule.ops()[op], static_cast<std::size_t>(lane));
        }
    };
    for_each_message([&](OpId op, const Op& o, std::size_t lane) {
        const bool waits =
            o.kind == OpKind::send && (is_after_receive[op] || o.bytes >= cleared_bytes_min);
        const bool is_awaited = o.kind == OpKind::recv && is_urgent[op];
        if (waits || is_awaited || o.bytes > unattended_bytes_max) gains[lane] = true;
    });
    for_each_message([&](OpId, const Op& o, std::size_t lane) {
        if (o.kind == OpKind::send && !gains[lane]) left.add(o);
    });
    std::vector<bool> worth(can.size());
    for (std::size_t lane = 0; lane < can.size(); ++lane) {
        const bool too_much = schedule.lanes()[lane].sends && left.is_too_much();
        worth[lane] = can[lane] && (gains[lane] || too_much);
    }
    return worth;
}

Tasks compile_tasks(const Schedule& schedule, const std::vector<bool>& offloaded, Protocol protocol,
                    std::int64_t cleared_bytes_min) {
    WEFT_ASSERT(offloaded.size() == schedule.lanes().size());
    return Compiler(schedule, offloaded, protocol, cleared_bytes_min).compile();
}

}  // namespace weft
