// A process that outlives this one, however it ends, just long enough to kill what still runs in
// the given network namespaces. Not thread safe.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/status.h"

namespace weft {

class Guard {
  public:
    Guard() = default;
    ~Guard() { sweep(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // Guarantees that nothing in these network namespaces outlives this process.
    Status start(const std::vector<int>& networks);

    // Ends everything in them now, except this process, and waits for it.
    void sweep();

  private:
    int alive_ = -1;  // a pipe that closes when this process ends
    pid_t pid_ = -1;
};

}  // namespace weft
