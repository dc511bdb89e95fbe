// Executes the schedules of all ranks, or their task lists and what is left beside them, on real
// buffers, in one thread and in a random legal order.
//
// It is as unkind as the rules allow: no message is buffered; a message moves at any time between
// the posting and the completion of both its ends; the place of a posted receive holds garbage
// until it completes, and so does the operand that reduce_right may overwrite. With an odd seed,
// one rank starts only when the others cannot go on without it.
//
// Of task lists one is far behind the others. It demands that no token is left over, that the rest of
// a schedule does not finish before the lists, and that no message goes before it has been cleared,
// when its place begins to hold garbage.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "reduce/reduce.h"
#include "schedule/schedule.h"
#include "schedule/tasks/tasks.h"

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
