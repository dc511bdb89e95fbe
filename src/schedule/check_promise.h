// What a call of a collective finds in its buffers and what it has to leave there: the promise that
// the checker holds schedules against.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/op.h"

namespace weft {

// As a source: the contributions of all ranks, combined.
inline constexpr Rank everyone = -1;

// `where` of `rank` holds the bytes from `origin` on of what `source` contributes.
struct Holding {
    Rank rank = 0;
    Region where;
    Rank source = 0;
    std::int64_t origin = 0;
};

struct Promise {
    // Bytes of the caller's buffers, by rank.
    std::vector<std::int64_t> send_bytes;
    std::vector<std::int64_t> recv_bytes;
    std::vector<Holding> before;
    std::vector<Holding> after;
    // Reductions: elements of this size, all of them combined whole.
    std::int64_t element_bytes = 1;
    // Contributions may be combined in any order; otherwise only in that of the ranks. Either way
    // ranks that get the same element get it by the same expression, hence bit for bit.
    bool commutative = false;
    bool follows_data = true;   // false: about the order of operations alone
    bool synchronizes = false;  // no rank leaves before every rank has entered
};

struct CallShape {
    Rank ranks = 1;
    Rank root = 0;
    std::int64_t bytes = 0;  // one block: what one rank contributes or gets
    std::int64_t element_bytes = 1;
    bool in_place = false;
    bool commutative = false;
};

// Refuses a collective that has no promise yet, with a sentence.
Result<Promise> promise_of(std::string_view collective, const CallShape& call);

}  // namespace weft
