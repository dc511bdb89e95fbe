#include "sim/goal_schedules.h"

#include <map>
#include <string>
#include <utility>

#include "schedule/builder.h"

namespace weft::simulate {
namespace {

constexpr std::uint64_t size_max = std::uint64_t{1} << 50;

Status refuse(const GoalOp& op, const char* what) {
    return failure(WEFT_REFUSED_ARGUMENT, "line %u: %s (--compat lgs can)", op.line, what);
}

Status check(const GoalOp& op, Rank rank) {
    if (op.cpu > 0) return refuse(op, "cpu; expected one CPU of each rank");
    if (op.nic > 0) return refuse(op, "nic; expected one NIC of each rank");
    if (op.size > size_max) return refuse(op, "a size above 2^50");
    if (op.kind == GoalKind::calc) return ok;
    if (op.peer == any_source) return refuse(op, "a receive from any rank; expected its number");
    if (op.peer == rank) return refuse(op, "a message to the rank itself");
    return ok;
}

Result<Schedule> schedule_of(const GoalRank& program, Rank rank, Rank ranks) {
    ScheduleBuilder builder(rank, ranks);
    builder.expect(program.ops.size());
    for (const GoalOp& from : program.ops) {
        WEFT_RETURN_IF_NOT_OK(check(from, rank));
        Op op;
        op.kind = from.kind == GoalKind::send   ? OpKind::send
                  : from.kind == GoalKind::recv ? OpKind::recv
                  : from.size > 0               ? OpKind::copy
                                                : OpKind::join;
        if (op.is_message()) op.peer = from.peer;
        op.bytes = static_cast<std::int64_t>(from.size);
        builder.add(op);
    }
    for (const GoalOrder& order : program.orders) {
        if (order.by_start) {
            return failure(WEFT_REFUSED_ARGUMENT,
                           "lines %u and %u: irequires; expected requires (--compat lgs can)",
                           program.ops[order.after].line, program.ops[order.before].line);
        }
        builder.order(order.before, order.after);
    }
    Result<Schedule> sealed = builder.seal();
    if (sealed.is_ok()) return sealed;
    return failure(WEFT_REFUSED_ARGUMENT, "rank %d: %s", rank, std::string(last_detail()).c_str());
}

struct GoalLane {
    std::vector<const GoalOp*> sends;
    std::vector<const GoalOp*> recvs;
};

// The k-th message of a lane meets the k-th receive. What is missing, the machine finds.
Status check_lanes(const GoalProgram& program) {
    std::map<std::pair<Rank, Rank>, GoalLane> lanes;  // by sender and receiver
    for (std::size_t r = 0; r < program.size(); ++r) {
        const auto rank = static_cast<Rank>(r);
        for (const GoalOp& op : program[r].ops) {
            if (op.kind == GoalKind::send) lanes[{rank, op.peer}].sends.push_back(&op);
            if (op.kind == GoalKind::recv) lanes[{op.peer, rank}].recvs.push_back(&op);
        }
    }
    for (const auto& [ends, lane] : lanes) {
        for (std::size_t i = 0; i < std::min(lane.sends.size(), lane.recvs.size()); ++i) {
            const GoalOp& send = *lane.sends[i];
            const GoalOp& recv = *lane.recvs[i];
            const bool has_tag = send.tag == recv.tag || send.tag == any_tag || recv.tag == any_tag;
            if (!has_tag || send.size != recv.size) {
                return failure(WEFT_REFUSED_ARGUMENT,
                               "line %u: %llu bytes with tag %u from rank %d, whose message number "
                               "%zu to rank %d (line %u) has %llu with tag %u; expected the order "
                               "of sends (--compat lgs can)",
                               recv.line, static_cast<unsigned long long>(recv.size), recv.tag,
                               ends.first, i + 1, ends.second, send.line,
                               static_cast<unsigned long long>(send.size), send.tag);
            }
        }
    }
    return ok;
}

}  // namespace

Result<std::vector<Schedule>> schedules_of(const GoalProgram& program) {
    std::vector<Schedule> schedules;
    for (std::size_t r = 0; r < program.size(); ++r) {
        Result<Schedule> schedule =
            schedule_of(program[r], static_cast<Rank>(r), static_cast<Rank>(program.size()));
        if (!schedule.is_ok()) return schedule.status();
        schedules.push_back(std::move(*schedule));
    }
    WEFT_RETURN_IF_NOT_OK(check_lanes(program));
    return schedules;
}

}  // namespace weft::simulate
