// A file descriptor with an owner. It is never 0, 1 or 2: a program that has closed its standard
// streams, or was started without them, may still print, and that must not reach a socket or memory
// of the library.
#pragma once

#include <unistd.h>

#include <cstddef>
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
    // The caller closes it.
    int release() { return std::exchange(fd_, -1); }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    static int moved(int fd);

    int fd_ = -1;
};

// How many file descriptors this process can still open.

// The soft limit RLIMIT_NOFILE.
std::size_t descriptors_max();
// How many of them are free for the library. If the limit is large, looks only at the
// first few thousand.
std::size_t descriptors_left();

// Shares when descriptors are scarce: task lists get 1 / part_for_task_lists of the limit, the
// engine a fixed number.
inline constexpr std::size_t part_for_task_lists = 4;
inline constexpr std::size_t descriptors_of_engine = 3;

// A file descriptor that forked children close: the other end sees its connection end with the
// process that made it.
//
// Thread safety: different objects may be used by different threads.
class UnsharedFd {
  public:
    UnsharedFd() = default;
    explicit UnsharedFd(Fd fd) : fd_(std::move(fd)) { note(true); }
    UnsharedFd(UnsharedFd&&) noexcept = default;
    UnsharedFd& operator=(UnsharedFd&&) noexcept = default;
    ~UnsharedFd() { note(false); }

    int get() const { return fd_.get(); }
    // It is closed only in children.
    void keep_open() { fd_.keep_open(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }

    // For a child, right after fork(): closes all of them. Takes no lock and does not touch their
    // owners, which other threads of the parent may have been changing.
    static void close_all_in_child();

  private:
    void note(bool is_open) const;

    Fd fd_;
};

}  // namespace weft
