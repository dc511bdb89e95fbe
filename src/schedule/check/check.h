// The schedule checker: proves from the schedules of all ranks of a call, without moving data, that
// the call does what its collective promises, or says what is wrong.
//
//   matching   on every lane the k-th send meets the k-th receive, of equal size, and none is left
//   deadlock   all operations complete even if nothing is buffered: a message waits for both ends
//   hazard     unordered operations of a rank never touch the same bytes while one of them writes;
//              issue order does not count: it orders no completions
//   result     every promised byte is the right byte of the right rank, or the right combination
//
// Regions must lie within their buffers, and the caller's send buffer is never written.
//
// Every legal order of execution then gives the same result, so it suffices to follow one, with
// symbols for data. The memory needed grows with the number of pieces of data, not with their size,
// and with the window of a repeat, not with its iterations.
#pragma once

#include <span>

#include "schedule/check/verdict.h"
#include "schedule/postcondition.h"
#include "schedule/schedule.h"

namespace weft {

// `schedules[r]` is rank r's.
Verdict check(std::span<const Schedule> schedules, const Postcondition& promise);

// Without a promised result: matching, deadlock and hazards. The callers' buffers are taken to be
// as large as the operations need.
Verdict check(std::span<const Schedule> schedules);

}  // namespace weft
