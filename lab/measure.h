// The cost of a collective, computed from the schedules of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "shape/topology.h"

namespace weft {

struct Measures {
    // Time until everything is done if a message takes one unit and everything else none. Per unit
    // a rank sends at most `ports` messages and receives at most `ports`: the first ready ones in
    // schedule order. A message moves when both its ends are posted; none is buffered.
    std::int64_t rounds = 0;
    std::int64_t depth = 0;         // the same with unlimited ports: the longest chain of messages
    std::int64_t messages_max = 0;  // sent by the rank that sends the most messages
    std::int64_t sent_bytes_max = 0;  // sent by the rank that sends the most bytes
    std::int64_t messages = 0;        // sent by all ranks
    std::int64_t sent_bytes = 0;
};

// `schedules[r]` is rank r's. Refuses schedules that deadlock or whose messages differ in size on
// their two ends, with a sentence.
Result<Measures> measure(std::span<const Schedule> schedules, int ports = 1);

// The sum over all ranks of the bytes that they send to other nodes.
std::int64_t bytes_between_nodes(std::span<const Schedule> schedules, const Topology& nodes);

// The times of all events, in units.
struct Timetable {
    std::int64_t rounds = 0;
    // By sender and receiver: the unit, from 0, in which each message moves.
    std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>> messages;
    // By rank: after how many units it combines operands. Each unit is listed once.
    std::vector<std::set<std::int64_t>> reductions;
};

// Computed by the same rules, with the same refusals.
Result<Timetable> timetable(std::span<const Schedule> schedules, int ports = 1);

}  // namespace weft
