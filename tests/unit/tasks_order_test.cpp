// Task lists keep every order of the schedule that they are compiled from, and add none that would
// stop them: random schedules, with joins of many, repeats, and predecessors named later.
#include "base/random.h"
#include "lab/print/task_text.h"
#include "offload/task_lists.h"
#include "schedule/builder.h"
#include "schedule/repeats.h"
#include "schedule/text.h"
#include "support/test.h"

namespace weft::tasks_order_test {

constexpr Rank ranks = 12;
constexpr std::int64_t block_bytes = 8;

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed), builder_(0, ranks) {}

    // Nothing: the operations would wait for each other.
    Result<Schedule> schedule() {
        const std::uint64_t parts = 1 + random_.below(4);
        for (std::uint64_t i = 0; i < parts; ++i) {
            if (random_.one_in(3)) {
                add_repeat();
            } else {
                add_ops(1 + random_.below(40), flat_, 0);
                if (random_.one_in(3)) builder_.fence();
                if (random_.one_in(3)) name_later();
            }
        }
        return builder_.seal();
    }

  private:
    // No two operations of a schedule touch the same place, so that a place tells which it is.
    Region place() { return {Buffer::recv, (std::int64_t{1} << 20) * places_++, block_bytes}; }

    // Operations that wait for some of `known` and of those before them.
    void add_ops(std::uint64_t count, std::vector<OpId>& known, std::size_t first) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::vector<OpId> after;
            while (known.size() > first && !random_.one_in(3)) {
                after.push_back(known[first + random_.below(known.size() - first)]);
            }
            const auto peer = static_cast<Rank>(1 + random_.below(ranks - 1));
            Op op{.bytes = block_bytes};
            switch (random_.below(5)) {
                case 0: op.kind = OpKind::copy; break;
                case 1: op = {}; break;
                case 2: op.kind = OpKind::send; break;
                default: op.kind = OpKind::recv; break;
            }
            if (op.is_message()) op.peer = peer;
            op.from_buffer = op.into_buffer = Buffer::recv;
            op.from_offset = op.into_offset = place().offset;
            known.push_back(builder_.add(op, after));
        }
    }

    void add_repeat() {
        const auto iterations = static_cast<std::int64_t>(1 + random_.below(6));
        const auto window = static_cast<std::uint32_t>(1 + random_.below(4));
        const OpId before = flat_.empty() ? no_op : flat_[random_.below(flat_.size())];
        builder_.repeat_begin(
            {.total_bytes = iterations * block_bytes, .block_bytes = block_bytes, .window = window},
            {before});
        std::vector<OpId> inside;
        add_ops(1 + random_.below(6), inside, 0);
        const auto distance = static_cast<std::uint32_t>(random_.below(window));
        if (distance > 0) builder_.order(inside.back(), inside.front(), distance);
        flat_.push_back(builder_.repeat_end());
    }

    void name_later() {
        const std::size_t before = random_.below(flat_.size());
        const std::size_t after = random_.below(flat_.size());
        if (before != after) builder_.order(flat_[before], flat_[after]);
    }

    Prng random_;
    ScheduleBuilder builder_;
    std::vector<OpId> flat_;  // operations outside repeats, and the ends of those
    std::int64_t places_ = 1;
};

using Node = std::size_t;

// Who comes before whom.
class Order {
  public:
    Node add() {
        next_.emplace_back();
        return next_.size() - 1;
    }
    void add(Node before, Node after) { next_[before].push_back(after); }

    std::vector<bool> reached_from(Node node) const {
        std::vector<bool> seen(next_.size());
        std::vector<Node> open{node};
        while (!open.empty()) {
            const Node at = open.back();
            open.pop_back();
            for (Node after : next_[at]) {
                if (seen[after]) continue;
                seen[after] = true;
                open.push_back(after);
            }
        }
        return seen;
    }

  private:
    std::vector<std::vector<Node>> next_;
};

// What tells an operation from all others.
using Name = std::pair<OpKind, std::int64_t>;

Name name_of(const Op& op) {
    return {op.kind, op.kind == OpKind::send ? op.from_offset : op.into_offset};
}
Name name_of(const Task& task) {
    return {task.kind == Task::Kind::send ? OpKind::send : OpKind::recv, task.region.offset};
}

// The order that a schedule asks for, repeats written out; `lanes`: and that of the messages of these
// lanes.
struct Asked {
    Asked(const Schedule& schedule, const std::vector<bool>& lanes) {
        const std::vector<Step> steps = unroll(schedule);
        std::vector<Node> last(lanes.size(), steps.size());
        for (Node s = 0; s < steps.size(); ++s) order.add();
        for (Node s = 0; s < steps.size(); ++s) {
            for (Node after : steps[s].after_completion) order.add(s, after);
            if (steps[s].what.kind == OpKind::join) continue;
            nodes[name_of(steps[s].what)] = s;
            const std::int32_t lane = schedule.lane_of(steps[s].id);
            if (lane < 0 || !lanes[static_cast<std::size_t>(lane)]) continue;
            Node& before = last[static_cast<std::size_t>(lane)];
            if (before < steps.size()) order.add(before, s);
            before = s;
        }
    }

    Order order;
    std::map<Name, Node> nodes;
};

// The order that compiled tasks keep.
class Kept {
  public:
    explicit Kept(const Tasks& tasks)
        : enables_(tasks.semaphores), waits_(tasks.semaphores), gos_(tasks.lists.size()) {
        for (std::size_t list = 0; list < tasks.lists.size(); ++list) add_list(tasks, list);
        std::vector<std::size_t> enabled(tasks.lists.size());
        std::vector<bool> is_awaited(tasks.lists.size());
        std::vector<Node> rest;
        for (std::size_t i = 0; i < tasks.rest.ops().size(); ++i) rest.push_back(order.add());
        for (OpId id = 0; id < rest.size(); ++id) {
            const Op& op = tasks.rest.ops()[id];
            const auto list = static_cast<std::size_t>(op.peer);
            for (Edge edge : tasks.rest.after_completion(id)) order.add(rest[id], rest[edge.to]);
            if (op.kind == OpKind::enable) {
                order.add(rest[id], gos_[list].at(enabled[list]++));
            } else if (op.kind == OpKind::await) {
                const auto number = static_cast<std::size_t>(op.from_offset);
                order.add(reports_[list].at(number), rest[id]);
                if (number + 1 == reports_[list].size()) is_awaited[list] = true;
            } else if (op.kind != OpKind::join) {
                nodes[name_of(op)] = rest[id];
            }
        }
        for (std::size_t list = 0; list < tasks.lists.size(); ++list) {
            EXPECT_TRUE(is_awaited[list]) << list;
            EXPECT_EQ(enabled[list], gos_[list].size());
            EXPECT_EQ(tasks.lists[list].reports, reports_[list].size());
        }
        for (std::size_t s = 0; s < tasks.semaphores; ++s) {
            EXPECT_EQ(enables_[s].size(), waits_[s].size());
            for (std::size_t i = 0; i < waits_[s].size(); ++i) {
                order.add(enables_[s].at(i), waits_[s][i]);
            }
        }
    }

    Order order;
    std::map<Name, Node> nodes;
    std::map<Name, Node> clears;  // by their receive

  private:
    void add_list(const Tasks& tasks, std::size_t index) {
        const TaskList& list = tasks.lists[index];
        std::vector<Name> cleared;  // the receives beside a control list
        if (list.is_control && list.sends) cleared = std::exchange(received_, {});
        received_.clear();
        reports_.emplace_back();
        std::size_t clear = 0;
        for (std::size_t i = 0; i < list.tasks.size(); ++i) {
            const Task& task = list.tasks[i];
            const Node node = order.add();
            if (i > 0) order.add(node - 1, node);
            switch (task.kind) {
                case Task::Kind::recv:
                    if (task.needs_cts) received_.push_back(name_of(task));
                    [[fallthrough]];
                case Task::Kind::send: nodes[name_of(task)] = node; break;
                case Task::Kind::clear: clears[cleared.at(clear++)] = node; break;
                case Task::Kind::cleared: break;
                case Task::Kind::wait: waits_[task.number].push_back(node); break;
                case Task::Kind::enable: enables_[task.number].push_back(node); break;
                case Task::Kind::go: gos_[index].push_back(node); break;
                case Task::Kind::report:
                    EXPECT_EQ(task.number, reports_.back().size());
                    reports_.back().push_back(node);
                    break;
            }
            if (i + 1 == list.tasks.size()) reports_.back().push_back(node);
        }
    }

    std::vector<std::vector<Node>> enables_;  // by semaphore
    std::vector<std::vector<Node>> waits_;
    std::vector<std::vector<Node>> gos_;  // by list
    std::vector<std::vector<Node>> reports_;
    std::vector<Name> received_;  // by the last list, with a CTS
};

void expect_same_order(const Asked& asked, const Kept& kept) {
    ASSERT_EQ(asked.nodes.size(), kept.nodes.size());
    for (const auto& [name, node] : asked.nodes) {
        const std::vector<bool> wanted = asked.order.reached_from(node);
        const std::vector<bool> found = kept.order.reached_from(kept.nodes.at(name));
        for (const auto& [other, after] : asked.nodes) {
            ASSERT_EQ(wanted[after], found[kept.nodes.at(other)])
                << "kind " << static_cast<int>(name.first) << " at " << name.second
                << " before kind " << static_cast<int>(other.first) << " at " << other.second;
        }
    }
}

// Nothing is cleared before what its receive waits for.
void expect_clears_wait(const Asked& asked, const Kept& kept) {
    for (const auto& [name, node] : asked.nodes) {
        const std::vector<bool> wanted = asked.order.reached_from(node);
        const std::vector<bool> found = kept.order.reached_from(kept.nodes.at(name));
        for (const auto& [received, clear] : kept.clears) {
            const bool is_awaited = wanted[asked.nodes.at(received)];
            ASSERT_TRUE(!is_awaited || found[clear]) << received.second;
        }
    }
}

TEST(TaskLists, KeepTheOrderOfTheirScheduleAndAddNone) {
    int compiled = 0;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        Result<Schedule> schedule = Generator(seed).schedule();
        if (!schedule.is_ok()) continue;
        Prng random(seed);
        std::vector<bool> offloaded;
        for (std::size_t i = 0; i < schedule->lanes().size(); ++i) {
            offloaded.push_back(!random.one_in(3));
        }
        for (Protocol protocol : {Protocol::eager, Protocol::rendezvous}) {
            const std::int64_t cleared_bytes_min = seed % 2 == 0 ? 0 : schedule->ops()[0].bytes;
            const Tasks tasks = compile_tasks(*schedule, offloaded, protocol, cleared_bytes_min);
            SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(*schedule) +
                         to_text(tasks));
            const Kept kept(tasks);
            expect_same_order(Asked(*schedule, offloaded), kept);
            const std::vector<bool> none(offloaded.size());
            expect_clears_wait(Asked(*schedule, none), kept);
            if (HasFailure()) return;
        }
        ++compiled;
    }
    EXPECT_GT(compiled, 500);
}

}  // namespace weft::tasks_order_test
