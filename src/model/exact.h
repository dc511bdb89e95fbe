// The exact times of all operations of all ranks in LogGP, by a plain evaluation of their graph. It is slow, and the
// reference for the simulator, with which it shares no code.
//
// An operation becomes activities, each of which occupies a resource of a rank for a while, and starts others some time
// after it was asked for, after its begin or after its end. A resource takes activities in the order in which they ask.
//   send     CPU o + (s-1)O; sending side g + (s-1)G; L after its begin, the receiver's receiving side g + (s-1)G
//   receive  CPU o + (s-1)O, when it is posted and, (s-1)G after the begin of its receiving side, the message has come
//   others   CPU: the bytes by gamma, or by copy; a join needs no resource
// A message of more than S bytes comes after a question to the receiver and, once the receive is posted, an answer; both
// are empty messages. s-1 stands for 0 if a message is empty.
//
// Where g is 0, a message may come at the same time as the one before it on its lane. Here it may then come first; the
// simulator keeps their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/loggp.h"
#include "schedule/schedule.h"

namespace weft::model {

struct ExactTimes {
    struct OperationTimes {
        std::int64_t start_ps = -1;  // all that it waits for is over; -1: never
        std::int64_t end_ps = -1;
    };
    enum class Resource : std::uint8_t { cpu, sending, receiving };
    struct Use {
        Resource resource;
        std::int64_t begin_ps;
        std::int64_t end_ps;
    };
    std::uint64_t events = 0;  // operations other than joins, and messages
    std::vector<std::vector<OperationTimes>>
        operations;                      // by rank: its schedule's steps (unroll())
    std::vector<std::vector<Use>> uses;  // by rank, those that take no time left out
    std::vector<std::int64_t> end_ps;    // by rank
    std::vector<std::int64_t> cpu_ps;    // by rank: how long its CPU is busy
};

// `schedules[r]` is rank r's. Refuses, with a sentence, what never ends. REQUIRES: no time gets near `time_max_ps`.
Result<ExactTimes> exact_times(std::span<const Schedule> schedules,
                               const LogGpParameters& parameters);

}  // namespace weft::model
