// The TCP connections of UCX workers, which UCX does not show.
//
// UCX 1.13 leaves it to the kernel to end a connection that is cut, which takes a quarter of an
// hour while something is unacknowledged. UCX waits for its sockets in epolls behind a worker's
// descriptor; /proc lists what is in these.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>

#include "transport/silence.h"

namespace weft::ucx {

class Connections {
  public:
    // `keeps_alive`: also sets how idle connections notice it.
    Connections(std::int64_t timeout_ns, bool keeps_alive)
        : timeout_ns_(timeout_ns), keeps_alive_(keeps_alive) {}

    // Something is expected from now on.
    void begin() {
        for (auto& [inode, connection] : known_) connection.silence = {};
    }
    // Ends those whose other end has been out of reach for so long. UCX finds them closed, and
    // tells whose they were. Call it four times in each timeout while something is expected.
    void end_silent(std::span<const int> worker_descriptors, std::int64_t now_ns);

  private:
    struct Connection {
        Silence silence;
        std::int64_t seen_ns = 0;  // the last look
    };

    void look_into(int epoll, int depth, std::int64_t now_ns);
    void look_at(int socket, ino_t inode, std::int64_t now_ns);

    std::int64_t timeout_ns_;
    bool keeps_alive_;
    std::map<ino_t, Connection> known_;  // by the sockets' inodes
};

}  // namespace weft::ucx
