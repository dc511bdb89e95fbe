// A send or receive as the program called it, and its checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device_memory.h"
#include "base/status.h"
#include "run/tagged_message.h"
#include "weft/types.h"

namespace weft {

struct MessageCall {
    bool sends = false;
    void* data = nullptr;  // of a send: only read
    std::size_t count = 0;
    weft_type type = WEFT_BYTE;
    Rank peer = any_source;
    bool takes_any = false;  // a receive from any source: it has no peer
    int tag = 0;
    int* source = nullptr;  // see TaggedMessage
};

// Refuses a bad call with a sentence. Returns its bytes. `ranks`: of the communicator.
Result<std::int64_t> check_message(const MessageCall& call, Rank ranks, DeviceMemory device_memory);

}  // namespace weft
