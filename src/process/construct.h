// Makes communicators from others. Collective over the parent; blocks.
#pragma once

#include "process/process.h"

namespace weft {

// A rank's part in a constructor's call.
struct Construction {
    enum class Kind : std::int32_t { dup, dup_with, split, split_node };

    Kind kind = Kind::dup;
    std::int32_t color = 0;  // of a split; WEFT_COLOR_NONE: no communicator for this rank
    std::int32_t key = 0;
};

// Returns the new communicator, which has the parent's settings changed by `settings`
// (communicator/settings.h); null for a rank that wants none. The engine must be held; it is released
// while waiting for the other ranks.
Result<Communicator*> construct(Process& process, Communicator& parent, Construction mine,
                                const char* settings = "");

}  // namespace weft
