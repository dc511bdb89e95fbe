// A TCP connection between the two ranks of a job that is not the library's: what one writes
// without a library, to compare with.
#pragma once

#include <cstddef>
#include <span>

#include "bench/job.h"

namespace weft::bench {

// Not thread safe. Every function ends the process with a sentence when the peer is gone.
class PlainSockets {
  public:
    // Collective over a job of two ranks. Over loopback when they are on one host, else over the
    // first network interface that is up and has an IPv4 address.
    explicit PlainSockets(const Job& job);
    ~PlainSockets();
    PlainSockets(const PlainSockets&) = delete;
    PlainSockets& operator=(const PlainSockets&) = delete;

    // Send and receive these bytes at once, and sleep (epoll) whenever neither can go on.
    void exchange(std::span<const std::byte> send, std::span<std::byte> recv);

    // Calls that block in the operating system until everything has moved.
    void send_blocking(std::span<const std::byte> bytes);
    void recv_blocking(std::span<std::byte> bytes);

    // As long as one of these lasts it spins, without sleeping.
    void send_spinning(std::span<const std::byte> bytes);
    void recv_spinning(std::span<std::byte> bytes);

  private:
    void set_blocking(bool blocks);
    // Bytes moved; 0: none can be now.
    std::size_t send_some(std::span<const std::byte> bytes);
    std::size_t recv_some(std::span<std::byte> bytes);

    int fd_ = -1;
    int epoll_ = -1;
};

}  // namespace weft::bench
