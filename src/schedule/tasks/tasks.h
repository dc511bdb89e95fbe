// A schedule compiled for offload: task lists that something else than the executor carries out, and
// the rest of the schedule for the executor.
//
// A task list is one lane of the schedule: its sends or its receives, in order, one after the other.
// Between lists there are semaphores, one for each pair of a list that goes ahead and one that waits
// for it: `enable` gives it a token, `wait` takes one. Because both lists are in order, tokens need
// no names, and a wait that an earlier one of the pair implies is left out. What waits for a list in
// the rest of the schedule (a reduction, a message on another kind of lane) is told by a `report`;
// what a list waits for there is told to it by a `go`.
//
// What a message waits for stands right before it, what it sets free right after it. The end of a
// list is its last report, and no task.
//
// In the rest, an operation `await` (list `peer`, its report number `from_offset`) completes when
// the list has come to that report; `enable` (list `peer`) lets the list's next `go` pass. The rest
// completes when everything has: it awaits the end of every list. Repeats are written out.
//
// With rendezvous a lane has a second list, of control messages: the receiver's sends `clear` for a
// message when the receive's predecessors have completed, because then the buffer is free, and the
// sender's takes `cleared` before the message goes. Both ends of a lane have to be compiled for the
// same protocol.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

struct Task {
    enum class Kind : std::uint8_t {
        // Messages:
        send,     // `region` to the list's peer
        recv,     // `region` from the list's peer
        clear,    // tells the list's peer that its next message may come (rendezvous)
        cleared,  // waits for the peer's `clear` (rendezvous)
        // What holds them together:
        wait,    // takes a token of semaphore `number`
        enable,  // gives one to semaphore `number`
        go,      // waits for the rest of the schedule
        report,  // tells the rest of the schedule: report `number` of the list
    };
    Kind kind = Kind::send;
    std::uint32_t number = 0;
    Region region{};

    bool is_message() const { return kind <= Kind::cleared; }
};

struct TaskList {
    Rank peer = -1;  // in the communicator
    bool sends = false;
    bool is_control = false;     // of clear (sends) or cleared: beside a list with the messages
    std::uint32_t messages = 0;  // sends or recvs; in a control list: clears or cleareds
    std::uint32_t reports = 1;   // the end of the list included
    std::vector<Task> tasks = {};
};

struct Tasks {
    std::vector<TaskList> lists;
    std::uint32_t semaphores = 0;
    Schedule rest;

    std::int64_t memory_bytes() const;
};

enum class Protocol : std::uint8_t {
    eager,       // a message goes as soon as its predecessors let it (paper's Table I)
    rendezvous,  // ... and its receiver has cleared it (Table II)
};

// Which lanes of the schedule gain by being offloaded, of those that `can` be, by lane. Not: a few
// small receives that no send waits for (they are as well read by who waits for the operation), and
// a few small sends that wait for no receive (they are as well sent by who starts it).
std::vector<bool> worth_offloading(const Schedule& schedule, const std::vector<bool>& can);

// Compiles the lanes with `offloaded` to lists, in the order of schedule.lanes(); with rendezvous,
// each is followed by its control list.
Tasks compile_tasks(const Schedule& schedule, const std::vector<bool>& offloaded,
                    Protocol protocol = Protocol::eager);

}  // namespace weft
