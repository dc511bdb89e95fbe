// An eventfd by which a thread of this process wakes another that sleeps on descriptors.
// Thread safety: any thread; signal() also from signal handlers.
#pragma once

#include "base/fd.h"

namespace weft {

class Wake {
  public:
    Wake();
    // Not 0: the errno with which the eventfd was refused. The object must not be used.
    int error() const { return error_; }
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    int fd() const { return fd_.get(); }
    void signal() const;
    void clear() const;

  private:
    Fd fd_;
    int error_;
};

}  // namespace weft
