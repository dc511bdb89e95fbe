// Takes back the short slice for which the library's progress thread has asked the scheduler.
#pragma once

namespace weft::bench {

// Whether threads get a short slice here (Linux 6.12).
bool has_short_slice();

// Call it after that thread has started. False: the thread has no short slice.
bool give_progress_thread_a_long_slice();

}  // namespace weft::bench
