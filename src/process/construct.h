// Makes communicators from others. Collective over the parent; blocks.
#pragma once

#include <memory>

#include "process/process.h"

namespace weft {

// A rank's part in a constructor's call.
struct Construction {
    enum class Kind : std::int32_t { dup, dup_with, split, split_node, cart, graph };

    Kind kind = Kind::dup;
    std::int32_t color = 0;  // of a split; WEFT_COLOR_NONE: no communicator for this rank
    std::int32_t key = 0;
    // This rank's arguments are bad; it takes part so that nobody waits for it.
    bool is_refused = false;
    std::uint64_t grid = 0;  // of cart: a hash of its dimensions
};

// Returns the new communicator, which has the parent's settings changed by `settings`
// (communicator/settings.h); null for a rank that wants none. `neighbors`: of cart and graph. The
// engine must be held; it is released while waiting for the other ranks.
Result<Communicator*> construct(Process& process, Communicator& parent, Construction mine,
                                const char* settings = "",
                                std::unique_ptr<const Neighborhood> neighbors = nullptr);

}  // namespace weft
