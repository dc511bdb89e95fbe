// For calls of any collective: checks them, says what their schedules depend on, and builds these.
// What differs between collectives is in the catalogue (algorithm/catalogue.h).
#pragma once

#include <cstdint>
#include <vector>

#include "communicator/call/call.h"
#include "communicator/call/signature.h"
#include "run/run.h"
#include "select/select.h"

namespace weft {

// A checked call; its buffers have not been checked.
struct Checked {
    SignatureView signature;
    Binding binding;
};

// Room for the sizes of blocks whose types differ; kept between calls, because it grows only.
struct ByteCounts {
    std::vector<std::int64_t> send;
    std::vector<std::int64_t> recv;
};

// Sizes of the caller's buffers.
struct BufferBytes {
    std::int64_t send = 0;
    std::int64_t recv = 0;
};

// "bcast", for messages.
const char* collective_name(Collective collective);

// Refuses a null buffer if bytes of it are needed, and two that overlap.
Status check_buffers(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes, const char* recv_name);

// Refuses a bad call with a sentence. Does not check its buffers. The result refers to `byte_counts` and to the
// call's arrays.
Result<Checked> check(const Call& call, CallingRank place, ByteCounts& byte_counts);
// Refuses blocks that overlap.
Result<BufferBytes> bytes_of_buffers(const SignatureView& signature, CallingRank place);
Status check_buffers(const Checked& call, BufferBytes bytes);

// Builds this rank's schedule. `is_checked`: no data moves until the calls agree (see agreement.h).
Result<Schedule> build_schedule(const SignatureView& signature, CallingRank place,
                                const Selector& selector, bool is_checked);

}  // namespace weft
