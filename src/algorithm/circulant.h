// The rounds of a broadcast of many blocks over a circulant graph, and of a reduction, which runs
// them backwards. Their number is the minimum, blocks - 1 + ceil(log2 ranks).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithm/algorithm.h"
#include "shape/circulant.h"

namespace weft::algorithm {

// One rank's part. A phase has as many rounds as the graph has skips. The first rounds of phase 0
// are skipped, so that the last phase is whole; in that phase, numbers beyond the last block stand
// for it.
class CirculantRounds {
  public:
    // REQUIRES: blocks > 0, and more than one rank.
    CirculantRounds(const GlobalArgs& a, Rank rank, std::int64_t blocks);

    std::size_t in_phase() const { return skips_.size() - 1; }
    std::int64_t phases() const { return phases_; }
    // From this phase on, and up to the last but one, phases differ only in the numbers of their
    // blocks.
    std::int64_t first_alike() const { return skipped_ == 0 ? 1 : 2; }

    // The peers of round k in a broadcast.
    Rank from(std::size_t k) const;
    Rank to(std::size_t k) const;
    // The block that comes, or goes, in round k of a phase; none: there is no message.
    std::optional<std::int64_t> received(std::int64_t phase, std::size_t k) const;
    std::optional<std::int64_t> sent(std::int64_t phase, std::size_t k) const;

    // When the block that goes in round k has come. REQUIRES: this rank is not the root.
    struct Arrival {
        std::size_t round = 0;
        bool is_phase_before = false;
    };
    Arrival arrival(std::size_t k) const;
    // The round in which the first block of all comes: that block may go in the next phase, too.
    std::size_t first_round() const { return first_round_; }

    // Bytes of all blocks that a rank sends, each of `bytes`, but the last of `last_bytes`.
    std::int64_t sent_bytes(std::int64_t bytes, std::int64_t last_bytes) const;

  private:
    std::optional<std::int64_t> block(std::int64_t phase, int number) const;

    Rank rank_;
    Rank root_;
    std::vector<Rank> skips_;
    CirculantBlocks numbers_;
    std::int64_t blocks_;
    std::int64_t skipped_;  // rounds of phase 0
    std::int64_t phases_;
    std::size_t first_round_ = 0;
};

// Claims; `blocks` may be 0.
std::int64_t circulant_rounds(const GlobalArgs& a, std::int64_t blocks);

}  // namespace weft::algorithm
