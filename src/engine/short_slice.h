// Asks the scheduler to let this thread run at once when it is woken, for a short while.
#pragma once

namespace weft {

// Gives the calling thread a slice of 100 us within its ordinary policy (Linux 6.12 and later), so
// that it preempts a computing thread instead of waiting for the end of that one's slice.
// False: the kernel does not offer it, or forbids it.
bool request_short_slice();

}  // namespace weft
