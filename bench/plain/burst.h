// The burst that a link with a rate limit lets through at once after a pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/job.h"
#include "bench/plain/sockets.h"

namespace weft::bench {

class Burst {
  public:
    // Collective over a job of two ranks.
    explicit Burst(const Job& job);

    // Ends the pause: an operation of `bytes` then meets a link at its rate, whatever came before.
    // Does nothing for a small operation, which cannot profit from a burst. Collective.
    void use_up_before(std::int64_t bytes);

  private:
    const Job job_;
    PlainSockets sockets_;
    std::vector<std::byte> bytes_;
};

}  // namespace weft::bench
