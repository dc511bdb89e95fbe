// Takes back the short slice that the library's progress thread has asked the scheduler for.
#pragma once

namespace weft::bench {

// Whether threads get a short slice here (Linux 6.12).
bool has_short_slice();

// To be called when that thread has been started. False: it has no short slice.
bool give_progress_thread_a_long_slice();

}  // namespace weft::bench
