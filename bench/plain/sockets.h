// A TCP connection between the two ranks of a job, written without the library: a baseline.
#pragma once

#include <cstddef>
#include <span>

#include "bench/job.h"

namespace weft::bench {

// Not thread safe. Every function ends the process with a sentence if the peer is gone.
class PlainSockets {
  public:
    // Collective over a job of two ranks. On one host it uses loopback, otherwise the first network
    // interface that is up and has an IPv4 address.
    explicit PlainSockets(const Job& job);
    ~PlainSockets();
    PlainSockets(const PlainSockets&) = delete;
    PlainSockets& operator=(const PlainSockets&) = delete;

    // Sends and receives these bytes at the same time; sleeps (epoll) when neither can go on.
    void exchange(std::span<const std::byte> send, std::span<std::byte> recv);

    // Calls that block in the operating system until all bytes have moved.
    void send_blocking(std::span<const std::byte> bytes);
    void recv_blocking(std::span<std::byte> bytes);

    // Calls that spin until all bytes have moved.
    void send_spinning(std::span<const std::byte> bytes);
    void recv_spinning(std::span<std::byte> bytes);

    // Return the number of bytes moved; 0: none could be moved now.
    std::size_t send_some(std::span<const std::byte> bytes);
    std::size_t recv_some(std::span<std::byte> bytes);

  private:
    void set_blocking(bool blocks);

    int fd_ = -1;
    int epoll_ = -1;
};

}  // namespace weft::bench
