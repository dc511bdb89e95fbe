// Sizes of collectives at which something holds, in words.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace weft::bench {

struct Finding {
    std::string collective;
    std::string size;  // "": it has none
    bool holds;
};

// "barrier, bcast from 64K, reduce up to 1K, gather 1K to 64K", where it holds at all sizes that were measured, at the
// large, the small, and some in between; or "none". A collective's places are consecutive, by their sizes.
inline std::string where(std::span<const Finding> places) {
    std::string text;
    for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
        const std::string& collective = places[first].collective;
        while (end < places.size() && places[end].collective == collective) ++end;
        for (std::size_t from = first, to = first; from < end; from = to + 1) {
            to = from;
            if (!places[from].holds) continue;
            while (to + 1 < end && places[to + 1].holds) ++to;
            std::string sizes;
            if (from == first && to + 1 == end) {
                sizes = "";
            } else if (from == to) {
                sizes = " " + places[from].size;
            } else if (to + 1 == end) {
                sizes = " from " + places[from].size;
            } else if (from == first) {
                sizes = " up to " + places[to].size;
            } else {
                sizes = " " + places[from].size + " to " + places[to].size;
            }
            text += (text.empty() ? "" : ", ") + collective + sizes;
        }
    }
    return text.empty() ? "none" : text;
}

}  // namespace weft::bench
