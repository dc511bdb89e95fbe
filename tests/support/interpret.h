// Executes the schedules of all ranks, or their task lists and the rest, on real buffers, in one thread
// and in a random legal order.
//
// It is as unkind as the rules allow: no message is buffered; a message moves at any time between the posting and the
// completion of both its ends; the region of a posted receive holds garbage until the receive completes, and so does
// the operand that reduce_right may overwrite. With an odd seed, one rank starts only when the others cannot go on
// without it.
//
// One task list is far behind the others. No token may be left over, the rest of a schedule may not
// finish before the lists, and no message may be sent before its CTS. From the CTS on, the region holds garbage.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "offload/task_lists.h"
#include "reduce/reduce.h"
#include "schedule/schedule.h"

namespace weft::test {

struct Buffers {
    Bytes send;
    MutBytes recv;
};

struct Interpretation {
    std::string failure;                 // empty: all ranks have finished
    bool finished_before_start = false;  // some rank finished before every rank had started
};

// `schedules[r]` and `buffers[r]` are rank r's. The seed decides the order.
Interpretation interpret(std::span<const Schedule> schedules, std::span<const Buffers> buffers,
                         const Reduction& reduction, std::uint64_t seed);
Interpretation interpret(std::span<const Tasks> tasks, std::span<const Buffers> buffers,
                         const Reduction& reduction, std::uint64_t seed);

}  // namespace weft::test
