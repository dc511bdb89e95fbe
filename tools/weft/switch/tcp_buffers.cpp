#include "weft/switch/tcp_buffers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "weft/namespaces.h"

namespace weft {
namespace {

constexpr double unlimited_bits_per_s = 1e10;  // about what the switch carries
constexpr double buffer_max_bytes = 512e6;
// A round trip's bytes, and half of the buffer is for the kernel's own records; then twice that,
// because a window also grows beyond what the link holds.
constexpr double buffers_of_a_link = 4;

// Its limit, the last of three numbers.
bool raise(int network, const char* setting, std::int64_t bytes) {
    const Fd file(open_in(network, setting));
    char text[128] = {};
    if (!file || ::pread(file.get(), text, sizeof text - 1, 0) <= 0) return false;
    std::istringstream numbers(text);
    std::int64_t least = 0, first = 0, most = 0;
    numbers >> least >> first >> most;
    if (most >= bytes) return true;
    const std::string raised =
        std::to_string(least) + " " + std::to_string(first) + " " + std::to_string(bytes);
    return ::pwrite(file.get(), raised.data(), raised.size(), 0) ==
           static_cast<ssize_t>(raised.size());
}

}  // namespace

std::int64_t tcp_buffer_bytes(double bits_per_s, const Distance& distance) {
    const double bytes_per_ns = (bits_per_s > 0 ? bits_per_s : unlimited_bits_per_s) / 8e9;
    const auto round_trip_ns = 2 * static_cast<double>(distance.delay_ns + distance.jitter_ns);
    return static_cast<std::int64_t>(
        std::min(buffer_max_bytes, buffers_of_a_link * bytes_per_ns * round_trip_ns));
}

bool raise_tcp_buffers(int network, std::int64_t bytes) {
    const bool can_send = raise(network, "/proc/sys/net/ipv4/tcp_wmem", bytes);
    return raise(network, "/proc/sys/net/ipv4/tcp_rmem", bytes) && can_send;
}

}  // namespace weft
