// The calls of weft/completion.h on a process.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>

#include "process/process.h"
#include "weft/completion.h"

namespace weft {

// Marks the request for the queue; WEFT_COMPLETION_QUEUE_NULL: takes its mark away.
Status mark_request(Process& process, weft_request request, weft_completion_queue queue,
                    std::uint64_t cookie);

// Refuses what is not a queue.
Result<CompletionQueue*> find_queue(Process& process, weft_completion_queue queue);

// Takes the oldest completion. Drives if there is none; WEFT_PENDING: there still is none.
Status take_completion(Process& process, weft_completion_queue queue, std::uint64_t* cookie,
                       weft_status* status);

// Waits for one and takes it. WEFT_INTERRUPTED, WEFT_TIMED_OUT: there is none.
Status await_completion(Process& process, weft_completion_queue queue, std::uint64_t* cookie,
                        weft_status* status, std::int64_t deadline_ns);

}  // namespace weft
