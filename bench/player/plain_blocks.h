// What a collective moves between two ranks, of which rank 0 is the root: for players that move it
// without the library.
#pragma once

#include <span>

#include "bench/collective/collective.h"

namespace weft::bench {

// Of one rank.
struct PlainBlocks {
    std::span<const std::byte> outgoing;
    std::span<std::byte> incoming;
    std::span<const std::byte> own;  // its own block, which is copied
    std::byte* own_place = nullptr;

    // Why they cannot be told; "": they can. Sums are not copied: the caller says whether it adds.
    static std::string absence(const Collective& collective, const Job& job, bool can_add);
    PlainBlocks() = default;
    PlainBlocks(const Collective& collective, Case& c);
};

}  // namespace weft::bench
