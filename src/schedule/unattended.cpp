#include "schedule/unattended.h"

#include "base/assert.h"
#include "schedule/tasks/tasks.h"

namespace weft {
namespace {

// Whether every operation follows all those it waits for, so that one pass suffices.
bool is_in_order(const Schedule& schedule) {
    if (!schedule.repeats().empty()) return false;
    for (OpId op = 0; op < schedule.ops().size(); ++op) {
        for (Edge edge : schedule.after_completion(op)) {
            if (edge.to <= op) return false;
        }
    }
    return true;
}

// The load of the operations left so far.
struct Load {
    std::int64_t bytes = 0;
    std::uint32_t ops = 0;

    void add(const Op& op) {
        bytes += op.bytes;
        ++ops;
    }
    bool is_too_much() const {
        return bytes > unattended_bytes_of_all_max || ops > unattended_ops_max;
    }
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

std::vector<bool> find_urgent(const Schedule& schedule) {
    const auto ops = static_cast<OpId>(schedule.ops().size());
    std::vector<bool> is_urgent(ops, true);
    if (!is_in_order(schedule)) return is_urgent;
    Load left;
    for (OpId op = ops; op-- > 0;) {
        const Op& o = schedule.ops()[op];
        bool urgent =
            o.kind == OpKind::send || o.kind == OpKind::enable || o.bytes > unattended_bytes_max;
        for (Edge edge : schedule.after_completion(op)) urgent |= is_urgent[edge.to];
        is_urgent[op] = urgent;
        if (!urgent && o.kind != OpKind::await) left.add(o);  // a list receives its data itself
    }
    if (left.is_too_much()) is_urgent.assign(ops, true);
    return is_urgent;
}

std::vector<bool> worth_offloading(const Schedule& schedule, const std::vector<bool>& can) {
    WEFT_ASSERT(can.size() == schedule.lanes().size());
    if (!is_in_order(schedule)) return can;
    const std::vector<bool> is_urgent = find_urgent(schedule);
    const std::vector<bool> is_after_receive = find_after_receive(schedule);
    std::vector<bool> gains(can.size());  // by lane, regardless of the others
    Load left;                            // sends of the other lanes
    auto for_each_message = [&](auto body) {
        for (OpId op = 0; op < schedule.ops().size(); ++op) {
            const std::int32_t lane = schedule.lane_of(op);
            if (lane >= 0) body(op, schedule.ops()[op], static_cast<std::size_t>(lane));
        }
    };
    for_each_message([&](OpId op, const Op& o, std::size_t lane) {
        const bool waits = o.kind == OpKind::send && is_after_receive[op];
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

}  // namespace weft
