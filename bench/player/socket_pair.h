// A TCP connection between the two ranks of a job, written without the library: a baseline.
#pragma once

#include <cstddef>
#include <span>

#include "bench/job.h"

namespace weft::bench {

// Not thread safe. Every function ends the process with a sentence if the peer is gone.
class SocketPair {
  public:
    // Collective over a job of two ranks. On one host it uses loopback, otherwise the first network
    // interface that is up and has an IPv4 address.
    explicit SocketPair(const Job& job);
    ~SocketPair();
    SocketPair(const SocketPair&) = delete;
    SocketPair& operator=(const SocketPair&) = delete;

    // Sends and receives these bytes at the same time; sleeps (epoll) when neither can go on.
    void exchange(std::span<const std::byte> send, std::span<std::byte> recv);

    // Return the number of bytes moved; 0: none could be moved now.
    std::size_t send_some(std::span<const std::byte> bytes);
    std::size_t recv_some(std::span<std::byte> bytes);

    // Whether send_some() and recv_some() block in the operating system until they have moved a byte.
    void set_blocking(bool blocks);
    // Until it may be possible to move bytes.
    void sleep();

  private:
    int fd_ = -1;
    int epoll_ = -1;
};

}  // namespace weft::bench
