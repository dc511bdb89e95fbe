// Waits without the GIL, which signals of Python's can end.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <functional>

#include "common.h"

namespace weft_python {

constexpr std::int64_t no_deadline = INT64_MAX;

// The deadline of a timeout in seconds; None: none.
std::int64_t deadline_of(nb::handle timeout);

// Calls `wait(deadline_ns)`, a wait of Weft's, without the GIL, again if it was interrupted. A
// handler that the program has for a signal runs meanwhile; what it raises is thrown.
weft_status interruptible(const std::function<weft_status(std::int64_t)>& wait,
                          std::int64_t deadline_ns);

// How many threads are in such a wait.
int waiting_threads();

}  // namespace weft_python
