// Communicators over the processes of a carrier, all of which are ranks of the job.
#pragma once

#include "communicator/process.h"
#include "weft/carrier.h"

namespace weft {

// What the ranks of a carrier must know of each other first.
enum class Membership : std::int32_t { none = 0, member = 1, left = 2 };

// Whether every process of the carrier has this membership; refused, everywhere, when they differ or
// none of them can have a communicator any more. Collective and blocking.
Status agree_on_membership(const weft_carrier& carrier, Membership mine);

// The communicator, its ranks in their order there. Collective over the carrier, and blocking; the
// engine must not be held.
Result<Communicator*> adopt(Process& process, const weft_carrier& carrier);

}  // namespace weft
