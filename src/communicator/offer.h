// A share of what this rank can lend, for a communicator that is being made.
//
// Thread safety: none; the engine is held when it is made, changed and ended.
#pragma once

#include "communicator/process.h"

namespace weft {

// What this rank offers to lend to the new communicator, and takes back if it is not needed.
class Offer {
  public:
    explicit Offer(Process& process) : process_(process), lending_(process.offer_lending()) {}
    ~Offer() { process_.give_back(lending_.streams_left - kept_); }
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

    const Lending& lending() const { return lending_; }
    // So much of it is the communicator's, which gives it back.
    void keep(std::uint32_t streams) { kept_ = streams; }

  private:
    Process& process_;
    Lending lending_;
    std::uint32_t kept_ = 0;
};

}  // namespace weft
