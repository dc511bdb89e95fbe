// An eventfd by which threads of one process wake one another out of a sleep on descriptors.
// Thread safety: any thread; signal() also from signal handlers.
#pragma once

#include "base/status.h"

namespace weft {

class Wake {
  public:
    Wake();
    ~Wake();
    // False: the process had no descriptor left; nothing may be asked of it.
    bool is_ok() const { return fd_ >= 0; }
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    int fd() const { return fd_; }
    void signal() const;
    void clear() const;

  private:
    int fd_;
};

}  // namespace weft
