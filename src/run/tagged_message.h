// What the start of a send or receive says: how its run differs from those of collectives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "run/stream.h"

namespace weft {

inline constexpr Rank any_source = -1;

struct TaggedMessage {
    StreamId stream;         // of its tag
    Rank peer = any_source;  // in the communicator
    bool sends = false;
    std::byte* data = nullptr;  // of a send: only read
    std::size_t bytes = 0;
    // Where a receive from any source puts the rank whose message it has met; null: nowhere.
    int* source = nullptr;

    Run* run = nullptr;

    // Of the current start:
    Rank met = any_source;          // whose message a receive from any source has met
    TaggedMessage* next = nullptr;  // in a list of TaggedMessages
    Bytes left;                     // that a receive from this rank itself has yet to copy
    weft_status code = WEFT_OK;     // how a message to this rank itself has ended,
    std::size_t sent_bytes = 0;     // and how long it was, if its receive did not fit it

    bool is_from_any() const { return peer == any_source; }
    // The rank at the other end; any_source: not known yet.
    Rank known_peer() const { return is_from_any() ? met : peer; }
    int tag() const { return static_cast<int>(stream.stream() - first_tag_stream); }
};

inline StreamId stream_of_tag(std::uint64_t context, int tag) {
    return {context, first_tag_stream + static_cast<std::uint32_t>(tag)};
}

}  // namespace weft
