// A share of this rank's dedicated connections, for a communicator that is being made.
//
// Thread safety: none; the engine is held when it is made, changed and ended.
#pragma once

#include "process/process.h"

namespace weft {

// What this rank offers to the new communicator, and takes back if it is not needed.
class Offer {
  public:
    explicit Offer(Process& process) : process_(process), dedicated_(process.offer_dedicated()) {}
    ~Offer() { process_.give_back(dedicated_.streams_left - kept_); }
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

    const DedicatedShare& dedicated() const { return dedicated_; }
    // So much of it is the communicator's, which gives it back.
    void keep(std::uint32_t streams) { kept_ = streams; }

  private:
    Process& process_;
    DedicatedShare dedicated_;
    std::uint32_t kept_ = 0;
};

}  // namespace weft
