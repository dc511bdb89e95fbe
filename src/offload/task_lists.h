// A schedule compiled for offload: task lists that the offload carries out, and the rest of the
// schedule for the executor.
//
// A task list is one lane of the schedule: its sends or its receives, in order, one after the
// other. If a list waits for another, the pair has a semaphore: the first list's `enable` gives it
// a token, the second list's `wait` takes one. Both lists are in order, so tokens need no names,
// and a wait that an earlier one of the pair implies is left out. A `report` tells the rest of the
// schedule (a reduction, a message on a lane without a list) that the list has reached this point;
// at a `go` the list waits for the rest.
//
// A message's waits stand right before it, its enables and reports right after it. The end of a
// list is its last report, and has no task.
//
// In the rest, an operation `await` (list `peer`, its report number `from_offset`) completes when
// the list has reached that report; `enable` (list `peer`) lets the list pass its next `go`. The
// rest completes when everything has: it awaits the end of every list. Repeats are written out.
//
// With rendezvous a lane with large messages has a second list, of control messages. The receiver's
// list sends a CTS (`clear`) when the receive's predecessors have completed, because then the
// buffer is free; the sender's list waits for it (`cleared`), with its last wait before the
// message. Both ends of a lane must be compiled for the same protocol.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

struct Task {
    enum class Kind : std::uint8_t {
        // Messages:
        send,     // `region` to the list's peer
        recv,     // `region` from the list's peer
        clear,    // sends a CTS for the peer's next message (rendezvous)
        cleared,  // waits for the peer's CTS (rendezvous)
        // Between messages:
        wait,    // takes a token of semaphore `number`
        enable,  // gives one to semaphore `number`
        go,      // waits for an `enable` in the rest of the schedule
        report,  // number `number`: completes an `await` in the rest of the schedule
    };
    Kind kind = Kind::send;
    bool needs_cts = false;  // of a send or recv
    std::uint32_t number = 0;
    Region region{};

    bool is_message() const { return kind <= Kind::cleared; }
};

struct TaskList {
    Rank peer = -1;  // in the communicator
    bool sends = false;
    bool is_control = false;     // has the CTS of the list before it
    std::uint32_t messages = 0;  // in a control list, CTS
    std::uint32_t reports = 1;   // including the end of the list
    std::vector<Task> tasks = {};
};

struct Tasks {
    std::vector<TaskList> lists;
    std::uint32_t semaphores = 0;
    // Of them, those by which a message waits for another, and not only for its CTS.
    std::uint32_t dependences = 0;
    Schedule rest;

    std::int64_t memory_bytes() const;
};

enum class Protocol : std::uint8_t {
    eager,       // a message is sent when its predecessors have completed (the paper's table I)
    rendezvous,  // ... and its CTS has come (table II)
};

// By lane: whether it can be offloaded and gains by it. Not worth it are a few small receives that
// no send waits for (the thread that waits for the operation can receive them), and a few small
// sends that wait for no receive (the thread that starts the operation can send them). With
// rendezvous, a send that waits for its CTS is worth it, too.
std::vector<bool> worth_offloading(
    const Schedule& schedule, const std::vector<bool>& can,
    std::int64_t cleared_bytes_min = std::numeric_limits<std::int64_t>::max());

// Compiles the lanes with `offloaded` to lists, in the order of schedule.lanes(); with rendezvous,
// each that has messages of at least `cleared_bytes_min` is followed by its control list.
Tasks compile_tasks(const Schedule& schedule, const std::vector<bool>& offloaded,
                    Protocol protocol = Protocol::eager, std::int64_t cleared_bytes_min = 0);

}  // namespace weft
