#include "schedule/check/lanes.h"

#include <algorithm>

#include "schedule/check/parts.h"

namespace weft::checking {

std::int32_t find_lane(const Schedule& schedule, Rank peer, bool sends) {
    // Sorted by peer, sends first.
    const auto lanes = schedule.lanes();
    auto place = std::partition_point(lanes.begin(), lanes.end(), [&](const ScheduleLane& lane) {
        return lane.peer < peer || (lane.peer == peer && lane.sends && !sends);
    });
    if (place == lanes.end() || place->peer != peer || place->sends != sends) return -1;
    return static_cast<std::int32_t>(place - lanes.begin());
}

LaneOps::LaneOps(const Schedule& schedule)
    : begin_(schedule.lanes().size() + 1, 0), ops_(schedule.ops().size()) {
    for (OpId id = 0; id < ops_.size(); ++id) {
        if (schedule.lane_of(id) >= 0) ++begin_[static_cast<std::size_t>(schedule.lane_of(id)) + 1];
    }
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        if (schedule.lane_of(id) < 0) continue;
        ops_[next[static_cast<std::size_t>(schedule.lane_of(id))]++] = id;
    }
}

namespace {

std::string cursor_name(const Schedule& schedule, const LaneCursor& cursor) {
    return checking::name_of(schedule, cursor.op(), cursor.iteration());
}

// The first difference between what `from` sends and what `to` receives.
void compare(const Schedule& from, LaneCursor send, const Schedule& to, LaneCursor recv,
             Findings& findings) {
    for (std::int64_t number = 0;; ++number, send.advance(), recv.advance()) {
        if (send.is_at_end() && recv.is_at_end()) return;
        if (!send.is_at_end() && !recv.is_at_end() && send.bytes() == recv.bytes()) continue;
        const std::string ends = " (message " + std::to_string(number) + " from rank " +
                                 std::to_string(from.rank()) + " to rank " +
                                 std::to_string(to.rank()) + ")";
        if (recv.is_at_end()) {
            findings.add(Flaw::matching,
                         "no operation receives what " + cursor_name(from, send) + " sends" + ends);
            return;
        }
        if (send.is_at_end()) {
            findings.add(Flaw::matching,
                         "no operation sends what " + cursor_name(to, recv) + " expects" + ends);
            return;
        }
        findings.add(Flaw::matching, cursor_name(from, send) + " sends " +
                                         std::to_string(send.bytes()) + " bytes, " +
                                         cursor_name(to, recv) + " expects " +
                                         std::to_string(recv.bytes()) + ends);
        return;
    }
}

}  // namespace

void check_lanes(std::span<const Schedule> schedules, Findings& findings) {
    std::vector<LaneOps> ops;
    for (const Schedule& schedule : schedules) ops.emplace_back(schedule);
    for (const Schedule& own : schedules) {
        for (std::size_t i = 0; i < own.lanes().size(); ++i) {
            const ScheduleLane& lane = own.lanes()[i];
            const Schedule& other = schedules[static_cast<std::size_t>(lane.peer)];
            const std::int32_t partner = find_lane(other, own.rank(), !lane.sends);
            if (!lane.sends && partner >= 0) continue;  // compared from the sender's side
            LaneCursor mine(own, ops[static_cast<std::size_t>(own.rank())].of(i));
            std::span<const OpId> their_ops;
            if (partner >= 0) {
                their_ops =
                    ops[static_cast<std::size_t>(lane.peer)].of(static_cast<std::size_t>(partner));
            }
            LaneCursor theirs(other, their_ops);
            if (lane.sends) {
                compare(own, mine, other, theirs, findings);
            } else {
                compare(other, theirs, own, mine, findings);
            }
            if (findings.full()) return;
        }
    }
}

}  // namespace weft::checking
