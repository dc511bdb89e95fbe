// Checks calls of any collective, determines what their schedules depend on, and builds the
// schedules. What differs between collectives is in the catalogue (algorithm/catalogue.h).
#pragma once

#include <cstdint>

#include "base/device_memory.h"
#include "communicator/call/blocks.h"
#include "communicator/call/call.h"
#include "communicator/call/signature.h"
#include "run/run.h"
#include "select/select.h"

namespace weft {

// The parts of the caller's buffers that a call uses.
struct BufferUses {
    BufferUse send;
    BufferUse recv;
    const char* recv_name = "recv_buf";  // for messages

    std::int64_t memory_bytes() const { return send.memory_bytes() + recv.memory_bytes(); }
};

// "bcast", for messages.
const char* collective_name(Collective collective);

// count * size of type, if `blocks` times that can still be addressed; else a sentence about the
// argument `name`.
Result<std::int64_t> block_bytes(std::size_t count, weft_type type, std::size_t blocks,
                                 const char* name);

// Refuses a null buffer if bytes of it are needed, and two buffers if they use the same bytes.
Status check_buffers(const void* send_buf, const BufferUse& send, const void* recv_buf,
                     const BufferUse& recv, const char* recv_name);
// Refuses memory of a device, as `device_memory` tells it. REQUIRES: the buffers passed
// check_buffers(), and `device_memory` is not null. (Apart from check_buffers(), whose every call
// it would slow down.)
Status check_memory(const void* send_buf, const BufferUse& send, const void* recv_buf,
                    const BufferUse& recv, const char* recv_name, DeviceMemory device_memory);

// Refuses a bad call with a sentence. Does not check its buffers. `signature` and `binding`, which
// must be new, then refer to `byte_counts` and to the call's arrays. (They are filled in place,
// because a copy would slow down starts.)
Status check(const weft_call& call, const CallContext& place, ByteCounts& byte_counts,
             Signature& signature, Binding& binding);
// Refuses blocks that overlap.
Result<BufferUses> uses_of_buffers(const Signature& signature, const CallContext& place);
Status check_buffers(const Binding& binding, const BufferUses& uses);
Status check_memory(const Binding& binding, const BufferUses& uses, DeviceMemory device_memory);

// Builds this rank's schedule. `is_checked`: no data moves until the calls agree (see agreement.h).
Result<Schedule> build_schedule(const Signature& signature, const CallContext& place,
                                const Selector& selector, bool is_checked);

}  // namespace weft
