// What a collective costs, read off the schedules of all ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

struct Measures {
    // Time until all is done, when a message takes one unit, a rank sends `ports` messages and
    // receives `ports` messages per unit, those ready first in schedule order, and everything else
    // takes no time. A message waits for both its ends; none is buffered.
    std::int64_t rounds = 0;
    std::int64_t depth = 0;         // the same with unlimited ports: the longest chain of messages
    std::int64_t messages_max = 0;  // sent by the rank that sends most messages
    std::int64_t sent_bytes_max = 0;  // sent by the rank that sends most bytes
    std::int64_t messages = 0;        // sent by all ranks
    std::int64_t sent_bytes = 0;
};

// `schedules[r]` is rank r's. Refuses schedules that deadlock or whose messages differ in size on
// their two ends, with a sentence.
Result<Measures> measure(std::span<const Schedule> schedules, int ports = 1);

// By sender and receiver, the unit of time, counted from 0, in which each of their messages moves.
using Timetable = std::map<std::pair<Rank, Rank>, std::vector<std::int64_t>>;

// Of the same rules. Refuses the same.
Result<Timetable> timetable(std::span<const Schedule> schedules, int ports = 1);

}  // namespace weft
