// A file descriptor that forked children close: the other end sees its connection end with the
// process that made it.
//
// Thread safety: different objects may be used by different threads.
#pragma once

#include "base/fd.h"

namespace weft {

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
