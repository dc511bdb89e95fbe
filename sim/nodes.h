// Nodes with several ranks: the links that they share, and what is theirs alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/loggp.h"
#include "shape/topology.h"

namespace weft::simulate {

// Rank r is at node r / ranks_per_node.
struct NodesParameters {
    Rank nodes = 1;
    Rank ranks_per_node = 1;
    std::int64_t link_byte_ps = 6'000;  // of a node's link, in each direction
    std::int64_t burst_bytes = 0;       // that a link lets through unshaped after a pause
    model::LogGpParameters inside;      // of messages within a node, but for their eager_bytes_max
    Rank cores = 0;              // rank r has core r % cores, also of other nodes; 0: each has one
    std::int64_t switch_ps = 0;  // until a shared core works for another rank than before
    // Whether a card (Progress::By::offload) handles messages within a node, too.
    bool has_card_inside = false;

    Rank ranks() const { return nodes * ranks_per_node; }
    Topology topology() const {
        std::vector<Rank> marks;
        for (Rank r = 0; r < ranks(); ++r) marks.push_back(r / ranks_per_node);
        return Topology(marks);
    }
    std::uint32_t node_of(std::uint32_t rank) const {
        return rank / static_cast<std::uint32_t>(ranks_per_node);
    }
};

// When the first and the last byte of a message are at some place.
struct Passage {
    std::int64_t first_ps = 0;
    std::int64_t last_ps = 0;
};

// One direction of a link, which a token bucket limits: a byte needs a token, and waits for it. The bucket
// holds a burst of them and gets one in every `byte_ps`. As everywhere in LogGP, a message's first byte
// takes no time. Messages go one after another.
class TokenBucket {
  public:
    // REQUIRES: no message comes before those that came earlier.
    Passage pass(Passage comes, std::int64_t bytes, std::int64_t byte_ps,
                 std::int64_t burst_bytes) {
        const std::int64_t burst_ps = model::times(burst_bytes, byte_ps);
        const std::int64_t first_ps = std::max(comes.first_ps, full_ps_ - burst_ps);
        const std::int64_t further = std::max<std::int64_t>(bytes - 1, 0);
        full_ps_ = model::plus(std::max(full_ps_, comes.first_ps), model::times(further, byte_ps));
        return {first_ps, std::max(comes.last_ps, full_ps_ - burst_ps)};
    }

  private:
    std::int64_t full_ps_ = 0;  // when it is full again
};

}  // namespace weft::simulate
