// The schedule checker: proves, from the schedules of all ranks of a call and without moving data,
// that the call does what its collective promises, or says what is wrong.
//
//   matching   on every lane the k-th send meets the k-th receive, of as many bytes, none left over
//   deadlock   all operations complete even when nothing is buffered: a message waits for both ends
//   hazard     two operations of a rank that no dependency orders never touch the same bytes with
//              one of them writing; the order of issue orders no completions and does not count
//   result     every promised byte holds the right rank's right byte, or the right combination
//
// Regions must lie within their buffers, and the caller's send buffer is never written.
//
// Every legal order of execution then gives the same result, so that following one of them with
// symbols for data is enough. The memory needed grows with the number of pieces of data, not with
// their size, and with the window of a repeat, not with its iterations.
#pragma once

#include <span>

#include "schedule/check/verdict.h"
#include "schedule/promise.h"
#include "schedule/schedule.h"

namespace weft {

// `schedules[r]` is rank r's.
Verdict check(std::span<const Schedule> schedules, const Promise& promise);

// Of schedules that promise no result: matching, deadlock and hazards. The callers' buffers are as
// large as the operations need.
Verdict check(std::span<const Schedule> schedules);

}  // namespace weft
