// WEFT_CHECK=1: the ranks of a collective exchange descriptions of their calls, and no data moves
// until the calls agree. The exchange is part of the collective's schedule, on its stream, so that
// it is cached, started and ordered with it.
//
// The exchange is the same for all collectives, so ranks notice when they call different ones. A
// nonblocking call never meets a persistent one: they have different streams.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "communicator/call/call.h"
#include "communicator/call/signature.h"
#include "run/run.h"
#include "schedule/builder.h"

namespace weft {

// The description of a collective call that ranks exchange.
struct CallRecord {
    std::int64_t count = 0;
    std::int32_t root = 0;
    // If blocks differ, a hash of their sizes; otherwise the wire format.
    std::uint32_t blocks = 0;
    std::uint32_t type = 0;
    std::uint8_t collective = 0;
    std::uint8_t op = 0;
    bool persistent = false;
    bool of_library = false;
};

// Two calls that do not agree, as a failure carries them (Failure::remark).
struct Disagreement {
    CallRecord call;
    CallRecord expected;
    Rank expected_of = -1;  // the rank (of the job) that made the expected call

    void write_to(Failure& failure) const;
    static Disagreement of(const Failure& failure);
};

// The record of a checked call.
CallRecord record_of(const weft_call& call, const Signature& signature, bool is_root,
                     bool persistent);

// Whether two ranks may make these calls together ("Agree" in weft/collective.h). Counts and types
// may differ if the bytes are equal, unless they are reduced.
bool agree(const CallRecord& left, const CallRecord& right);

// "bcast of 8 x float64 with root 1"
std::string in_words(const CallRecord& record);

// The exchange of one started call.
class Agreement {
  public:
    // Adds the exchange and the comparison to an empty schedule. Later operations wait for them.
    static void add_to(ScheduleBuilder& schedule, const CallContext& place);
    // By this rank, in one exchange.
    static std::int64_t sent_bytes(const CallContext& place);

    // Call before starting such a schedule. `binding` keeps a pointer to this.
    void bind(const CallRecord& mine, const Group& group, Binding& binding);

  private:
    static void tell(void* data, std::size_t bytes, void* agreement);
    static void compare(void* data, std::size_t bytes, void* agreement);

    CallRecord mine_;
    const Group* group_ = nullptr;
    Failure verdict_;
    std::array<UserCall, 2> calls_;
};

}  // namespace weft
