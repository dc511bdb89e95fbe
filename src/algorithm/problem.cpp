#include "algorithm/problem.h"

#include <algorithm>
#include <numeric>

namespace weft::algorithm {

std::int64_t GlobalArgs::total_bytes() const {
    return sizes.empty() ? ranks * bytes : std::reduce(sizes.begin(), sizes.end());
}

std::int64_t GlobalArgs::bytes_of_others_max() const {
    if (ranks == 1) return 0;
    return total_bytes() - (sizes.empty() ? bytes : *std::ranges::min_element(sizes));
}

std::int64_t Layout::reach() const {
    std::int64_t end = 0;
    if (list.sizes.empty()) return count == 0 || bytes == 0 ? 0 : offset + count * bytes;
    for (Rank i = 0; i < count; ++i) {
        const Region region = block(i);
        if (region.bytes > 0) end = std::max(end, region.offset + region.bytes);
    }
    return end;
}

std::int64_t Problem::reach(Buffer buffer) const {
    std::int64_t end = 0;
    for (const Layout* layout : {&send, &recv}) {
        if (layout->buffer == buffer) end = std::max(end, layout->reach());
    }
    return end;
}

}  // namespace weft::algorithm
