// Allreduce along a butterfly (shape/butterfly.h), for any number of ranks: ranks beyond a power of two
// first fold into their neighbors (shape/fold.h), which return the result. Shared by algorithms that
// differ only in the butterfly.
#pragma once

#include <cstdint>

#include "algorithm/algorithm.h"
#include "shape/butterfly.h"

namespace weft::algorithm {

// In every step partners exchange all that they have combined so far, and both combine the two.
struct WholeExchange {
    static Status build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule);
    static std::int64_t rounds(const Agreed& a);
    static std::int64_t sent_messages_max(const Agreed& a);
    static std::int64_t sent_bytes_max(const Agreed& a);
};

// In every step partners exchange halves of the vector and combine them, until every rank has the
// result of its part; then they exchange the parts in the opposite order.
struct HalvesExchange {
    static Status build(const Problem& in, const Butterfly& along, ScheduleBuilder& schedule);
    static std::int64_t rounds(const Agreed& a);
    static std::int64_t sent_messages_max(const Agreed& a);
    static std::int64_t sent_bytes_max(const Agreed& a);
};

}  // namespace weft::algorithm
