// How far the nodes of an emulated cluster are apart, in time.
#pragma once

#include <cstdint>

namespace weft {

struct Distance {
    std::int64_t delay_ns = 0;   // one way, from node to node
    std::int64_t jitter_ns = 0;  // on top of it: up to this much, drawn evenly
    double loss = 0;             // the share of packets that do not arrive
};

inline constexpr std::int64_t distance_max_ns = 10'000'000'000;
inline constexpr double loss_max = 0.5;

}  // namespace weft
