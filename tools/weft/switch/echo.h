// Messages to and fro between two networks, to see how long they take.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct Echo {
    // The shortest, of 8 bytes over TCP: on a busy machine others tell how busy it is.
    std::int64_t half_round_trip_ns = 0;
    std::string congestion;  // the congestion control of the connection
};

// Connects from one network to another, which has this address of IPv4. Takes about 40 round trips.
// Without a half round trip the connection fails or answers too late.
Echo measure_echo(int from_network, int to_network, const std::string& address);

}  // namespace weft
