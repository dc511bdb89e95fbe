// Whether the other end of a TCP connection is out of reach, by the kernel's TCP_INFO.
//
// A live host acknowledges data, and answers probes of a full window, also while its program
// computes or does not read. The connection's own timeouts do not suffice: TCP_USER_TIMEOUT also
// ends a connection whose window stays closed, and keep-alives are not sent while data is
// unacknowledged.
//
// Thread safety: none.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace weft {

inline void set_option(int socket, int level, int option, int value) {
    // Connections also work without these options.
    (void)setsockopt(socket, level, option, &value, sizeof value);
}

// An idle connection notices that the other host is gone.
inline void keep_alive(int socket, std::int64_t timeout_ns) {
    constexpr std::int64_t timeout_max_s = 60'000;  // of the kernel
    const int timeout_s =
        static_cast<int>(std::clamp<std::int64_t>(timeout_ns / 1'000'000'000, 2, timeout_max_s));
    constexpr int probes = 5;
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, (timeout_s + 1) / 2);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, timeout_s / 2 / probes));
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

// Of one connection.
class Silence {
  public:
    // Call it four times in each timeout while something is expected. True: the other end has
    // acknowledged nothing for the whole timeout, although there is unacknowledged data.
    bool is_too_long(int socket, std::int64_t now_ns, std::int64_t timeout_ns) {
        tcp_info info{};
        socklen_t size = sizeof info;
        if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
        const bool is_unheard =
            info.tcpi_unacked > 0 ? info.tcpi_retransmits > 0 : info.tcpi_probes > 1;
        if (!is_unheard) {
            since_ns_ = 0;
            return false;
        }
        // The acknowledgement may be old because nothing was sent.
        if (since_ns_ == 0) since_ns_ = now_ns;
        const bool is_long = now_ns - since_ns_ >= timeout_ns * 3 / 4;
        return is_long && info.tcpi_last_ack_recv > timeout_ns / 1'000'000;
    }

  private:
    std::int64_t since_ns_ = 0;  // retransmissions or probes go unanswered; 0: they do not
};

}  // namespace weft
