// A share of this rank's dedicated connections, for a communicator that is being made.
//
// Thread safety: none; the engine must be held when it is made, changed and destroyed.
#pragma once

#include "process/process.h"

namespace weft {

// Offers a share to the new communicator; the destructor takes back what it does not keep.
class Offer {
  public:
    explicit Offer(Process& process) : process_(process), dedicated_(process.offer_dedicated()) {}
    ~Offer() { process_.give_back(dedicated_.streams_left - kept_); }
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

    const DedicatedShare& dedicated() const { return dedicated_; }
    // This much now belongs to the communicator, which gives it back when it ends.
    void keep(std::uint32_t streams) { kept_ = streams; }

  private:
    Process& process_;
    DedicatedShare dedicated_;
    std::uint32_t kept_ = 0;
};

}  // namespace weft
