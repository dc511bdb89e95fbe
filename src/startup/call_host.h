// The part of all other ranks where rank 0 serves the cards: calling it, wherever it answers.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/job_key.h"
#include "base/status.h"
#include "startup/kinds.h"

namespace weft {

// Connects to rank 0 at one of the addresses and ports of the meeting point. They are tried at the
// same time, again and again, until one proves to be rank 0 of the same job (`greeting`); others
// that answer there, or say nothing, do no harm. Blocks, at most for the place's time-out; then the
// sentence says what was tried, and what came of it. Afterwards rank 0 has taken this rank in, or
// says on the connection why not.
Result<Fd> call_host(const JobRank& place, const MeetingPoint& point, const JobKey& greeting);

// Whether rank 0 of a job with this greeting listens at the port of this machine. Blocks, for a
// second if nothing answers there.
bool is_of_same_job(std::uint16_t port, const JobKey& greeting);

// The connection of such a caller, which is no rank: it only listens to rank 0's proof.
inline constexpr std::uint64_t probing_connection = 1;

}  // namespace weft
