// Makes communicators: from others, which is collective over the parent and blocks; or from
// lists of ranks, without messages: the ranks agree on a number beforehand, and the communicator's
// context is a hash of it.
//
// Thread safety: none; the engine must be held.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "process/process.h"

namespace weft {

// Makes a communicator by `make_it`, which others may have already: if this rank cannot, it tells
// them. `parent`: whose failure that is; null: the new one's, or world's.
template <class MakeIt>
Result<Communicator*> make_or_tell(Process& process, Communicator* parent, const char* function,
                                   const Group& group,
                                   std::unique_ptr<FailureNotices::Telling> telling,
                                   MakeIt make_it) {
    try {
        Communicator& made = make_it();
        const Failure failed = made.group().broken;
        if (failed.code == WEFT_OK) return &made;
        // One of its ranks has died meanwhile, or has broken it.
        const Status broken = (parent ? *parent : made).broken_status(function, failed);
        process.free(made);
        return broken;
    } catch (const std::bad_alloc&) {
        Executor& executor = process.executor();
        executor.break_unmade(std::move(telling), group);
        return (parent ? *parent : process.world())
            .broken_status(function, executor.out_of_memory());
    }
}

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

struct Members {
    std::uint64_t number = 0;
    std::span<const Rank> ranks;                    // of the job, by rank in the communicator
    Rank rank = 0;                                  // this process's there
    std::unique_ptr<const Neighborhood> neighbors;  // null: no topology
};

// Does not block. Refuses a number whose context a communicator of this rank has. It has the
// settings of world, but uses all links, and no dedicated connections.
Result<Communicator*> make_from_members(Process& process, Members members);

}  // namespace weft
