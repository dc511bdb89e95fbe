// The promise of a call: what its ranks' buffers hold before, and what they must hold afterwards.
// The checker compares schedules with it.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace weft {

// Consecutive ranks whose contributions are combined. A single rank's contribution stays as it is.
struct Sources {
    Rank first = 0;
    Rank last = 0;

    bool is_one() const { return first == last; }
    friend auto operator<=>(const Sources&, const Sources&) = default;
};

// `where` of `rank` holds what `sources` contribute, from byte `origin` on.
struct Holding {
    Rank rank = 0;
    Region where;
    Sources sources;
    std::int64_t origin = 0;
};

struct Postcondition {
    // Bytes of the caller's buffers, by rank.
    std::vector<std::int64_t> send_bytes;
    std::vector<std::int64_t> recv_bytes;
    std::vector<Holding> before;  // each from one source
    std::vector<Holding> after;
    // Reductions combine whole elements of this size.
    std::int64_t element_bytes = 1;
    // Contributions may be combined in any order, otherwise only in rank order. Either way, ranks
    // that get the same element get it by the same expression, so it is bitwise identical.
    bool commutative = false;
    // Contributions are combined in exactly one association order, whatever the schedules: f(r, r +
    // 1) is rank r's, and f(lo, hi) = f(lo, m) op f(m, hi), with m = lo + the largest power of two
    // below hi - lo. Never if commutative.
    bool reproducible = false;
    bool follows_data = true;   // false: only the order of operations is checked
    bool synchronizes = false;  // no rank leaves before every rank has entered
};

}  // namespace weft
