// What the communicator must know of a call of any collective: whether it is refused, what its
// schedule depends on, and how to build that schedule. What differs between collectives is in the
// catalogue (algorithm/catalogue.h).
#pragma once

#include <cstdint>

#include "communicator/call.h"
#include "run/run.h"
#include "select/select.h"

namespace weft {

// What a schedule depends on; calls with equal signatures share one.
struct Signature {
    Collective collective = Collective::barrier;
    bool in_place = false;
    bool commutative = true;  // the operation
    bool of_library = false;  // see Call
    bool combines = false;    // see algorithm::Size
    std::int32_t root = 0;
    std::int64_t bytes = 0;  // one rank's contribution
    std::int64_t element_bytes = 1;

    friend bool operator==(const Signature&, const Signature&) = default;
};

// A call that was found good.
struct Checked {
    Signature signature;
    Binding binding;
};

struct Place {
    Rank rank = 0;
    Rank ranks = 1;
    bool combines = false;  // every rank's transports do; the same on all of them
};

// "bcast", for messages.
const char* collective_name(Collective collective);

// Refuses a null buffer of which bytes are needed, and two that overlap.
Status check_buffers(const void* send_buf, std::int64_t send_bytes, const void* recv_buf,
                     std::int64_t recv_bytes, const char* recv_name);

// Refuses a bad call with a sentence.
Result<Checked> check(const Call& call, Place place);

// This rank's schedule. `is_checked`: no data moves until the ranks' calls agree (see agreement.h).
Result<Schedule> build_schedule(const Signature& signature, Place place, const Selector& selector,
                                bool is_checked);

}  // namespace weft
