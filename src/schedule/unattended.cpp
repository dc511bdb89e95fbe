#include "schedule/unattended.h"

namespace weft {

bool is_in_order(const Schedule& schedule) {
    if (!schedule.repeats().empty()) return false;
    for (OpId op = 0; op < schedule.ops().size(); ++op) {
        for (Edge edge : schedule.after_completion(op)) {
            if (edge.to <= op) return false;
        }
    }
    return true;
}

std::vector<bool> find_urgent(const Schedule& schedule) {
    const auto ops = static_cast<OpId>(schedule.ops().size());
    std::vector<bool> is_urgent(ops, true);
    if (!is_in_order(schedule)) return is_urgent;
    UnattendedLoad left;
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

}  // namespace weft
