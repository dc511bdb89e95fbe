// What the ranks of a call find in their buffers and what they have to leave there: the promise that
// the checker holds schedules against.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/op.h"

namespace weft {

// Consecutive ranks whose contributions are combined; one rank's is as it is.
struct Sources {
    Rank first = 0;
    Rank last = 0;

    bool is_one() const { return first == last; }
    friend auto operator<=>(const Sources&, const Sources&) = default;
};

// `where` of `rank` holds the bytes from `origin` on of what `sources` contribute.
struct Holding {
    Rank rank = 0;
    Region where;
    Sources sources;
    std::int64_t origin = 0;
};

struct Promise {
    // Bytes of the caller's buffers, by rank.
    std::vector<std::int64_t> send_bytes;
    std::vector<std::int64_t> recv_bytes;
    std::vector<Holding> before;  // of one source each
    std::vector<Holding> after;
    // Reductions: elements of this size, all of them combined whole.
    std::int64_t element_bytes = 1;
    // Contributions may be combined in any order; otherwise only in that of the ranks. Either way
    // ranks that get the same element get it by the same expression, hence bit for bit.
    bool commutative = false;
    bool follows_data = true;   // false: about the order of operations alone
    bool synchronizes = false;  // no rank leaves before every rank has entered
};

}  // namespace weft
