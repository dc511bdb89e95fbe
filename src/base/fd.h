// A file descriptor with an owner. It is never 0, 1 or 2: a program that has closed its standard
// streams, or was started without them, may still print, and that must not reach a socket or memory
// of the library.
#pragma once

#include <unistd.h>

#include <utility>

namespace weft {

class Fd {
  public:
    // The lowest number.
    static constexpr int first = 3;
    static constexpr bool is_free_of_streams(int fd) { return fd < 0 || fd >= first; }

    Fd() = default;
    // Takes the descriptor, moved to another number if need be. With a negative one, and if there
    // is no other number, there is none; then errno says why.
    explicit Fd(int fd) : fd_(is_free_of_streams(fd) ? fd : moved(fd)) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd() {
        if (fd_ >= 0) ::close(fd_);
    }

    int get() const { return fd_; }
    // It is never closed.
    void keep_open() { fd_ = -1; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    static int moved(int fd);

    int fd_ = -1;
};

}  // namespace weft
