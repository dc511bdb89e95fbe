// WEFT_CHECK=1: the ranks of a collective tell each other what they have called, and no data moves
// until the calls agree. It is a part of the collective's schedule, on its stream, so that it is
// cached, started and ordered with it.
//
// Ranks that make different collectives meet all the same, because that part is equal on all of them.
// A nonblocking call does not meet a persistent one: they have different streams.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "communicator/call/call.h"
#include "communicator/call/signature.h"
#include "run/binding.h"
#include "schedule/builder.h"

namespace weft {

// A collective call as ranks tell each other of it.
struct CallRecord {
    std::int64_t count = 0;
    std::int32_t root = 0;
    std::uint32_t blocks = 0;  // where they differ: a fingerprint of their sizes
    std::uint8_t collective = 0;
    std::uint8_t type = 0;
    std::uint8_t op = 0;
    bool persistent = false;
    bool of_library = false;
};

// Two calls that do not agree: what a failure says of them (Failure::remark).
struct Disagreement {
    CallRecord call;
    CallRecord expected;
    Rank expected_of = -1;  // the rank of the job that made the expected call

    void write_to(Failure& failure) const;
    static Disagreement of(const Failure& failure);
};

// What the ranks must agree on of a call that was found good, and what tells it in words.
CallRecord record_of(const Call& call, const SignatureView& signature, bool persistent);

// Whether two ranks may make these calls together (Agree in weft/collective.h). The same bytes may be
// described by different counts and types, unless they are reduced.
bool agree(const CallRecord& left, const CallRecord& right);

// "bcast of 8 x float64 with root 1"
std::string in_words(const CallRecord& record);

// One started call's part.
class Agreement {
  public:
    // To an empty schedule: the exchange and the comparison. What is added later waits for it.
    static void add_to(ScheduleBuilder& schedule, Place place);

    // Before a start of such a schedule: `binding` calls this, which must stay where it is.
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
