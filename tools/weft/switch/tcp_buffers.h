// How much TCP may have on the way, by the settings of a network.
#pragma once

#include <cstdint>

#include "weft/switch/distance.h"

namespace weft {

// What fills a link of this rate (0: unlimited) over this distance.
std::int64_t tcp_buffer_bytes(double bits_per_s, const Distance& distance);

// Raises the limits of both buffers of a connection. False: they are lower, and stay so.
bool raise_tcp_buffers(int network, std::int64_t bytes);

}  // namespace weft
