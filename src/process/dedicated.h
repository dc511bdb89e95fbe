// How many streams of a communicator get dedicated connections (transport/dedicated.h): the first
// ones. Its members agree when it is made: each says how many streams it can still serve, and
// whether it wants any. A stream takes one connection per pair of members.
#pragma once

#include <cstdint>
#include <span>

#include "base/engine_kind.h"

namespace weft {

// What a rank tells the others. If two threads make communicators at the same time, nothing is
// offered to both.
struct DedicatedShare {
    std::uint32_t streams_left = 0;
    std::uint32_t is_wanted = 0;  // 0 or 1
};

// Whether an engine wants them. Auto goes without if some rank of the job has several interfaces: a
// dedicated connection uses one of them, and what it carries cannot use the others.
bool wants_dedicated(EngineKind engine, bool has_several_interfaces);

// As many streams as every member can serve, if any member wants them.
std::uint32_t agreed_streams(std::span<const DedicatedShare> members);

}  // namespace weft
