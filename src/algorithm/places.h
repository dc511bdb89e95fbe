// A rank's blocks in a buffer in the order of the ranks from its own on: place i is for the block
// of rank r + i (modulo ranks); and steps in which consecutive places travel together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithm/algorithm.h"
#include "schedule/builder.h"

namespace weft::algorithm {

class Places {
  public:
    Places(const Layout& blocks, Rank rank);
    // A vector cut into nearly equal blocks of whole elements (shape/blocks.h).
    Places(Region vector, std::int64_t element_bytes, Rank ranks, Rank rank);

    Rank rank() const { return rank_; }
    Rank count() const { return count_; }
    Region place(Rank i) const;
    // The bytes of places [first, last).
    std::int64_t bytes(Rank first, Rank last) const;
    // Places [first, last) as one region, if they are contiguous.
    std::optional<Region> together(Rank first, Rank last) const;

    // Their contiguous pieces, and where each is among the bytes of all.
    struct Piece {
        Region region;
        std::int64_t at = 0;
    };
    std::vector<Piece> pieces(Rank first, Rank last) const;

  private:
    bool lie_anywhere() const { return !begin_.empty(); }
    // Blocks [first, last) of a vector.
    Region cut(std::int64_t first, std::int64_t last) const;

    Rank rank_;
    Rank count_;
    Region vector_ = {};
    std::int64_t element_bytes_ = 1;
    // Blocks that lie anywhere; and where each place begins among the bytes of all, with their end.
    Layout blocks_ = {};
    std::vector<std::int64_t> begin_;
};

// Places [first, last) in one piece: where they are, or a copy that is complete after `ready`.
struct Packed {
    Region region;
    OpId ready = no_op;
};
Packed pack(const Places& places, Rank first, Rank last, ScheduleBuilder& schedule);

// Copies places [first, last) from one piece to their destinations.
void unpack(const Places& places, Rank first, Rank last, Region packed,
            ScheduleBuilder::After after, ScheduleBuilder& schedule);

// Combines the operands in places [first, last) into `sum`, after `ready`.
OpId reduce_places(const Places& from, Rank first, Rank last, Region sum, OpId ready,
                   ScheduleBuilder& schedule);

// This rank's own block.
struct OwnBlock {
    Region block;
    OpId ready = no_op;
    OpId placed = no_op;  // when it is in its place, too
};

// Allgather in rounds. After j of them a rank has its first reach[j] places; in round j it gets the
// next ones, up to reach[j] from a rank. Receives into the buffer wait for `unread`. REQUIRES:
// reach goes from 1 to the number of ranks.
void gather_places(const Places& all, std::span<const Rank> reach, const OwnBlock& own, OpId unread,
                   ScheduleBuilder& schedule);

// An allgather or allgatherv.
void gather_places(const Problem& in, std::span<const Rank> reach, ScheduleBuilder& schedule);

// How much each rank sends in it, with one port.
std::vector<std::int64_t> gather_bytes(std::span<const std::int64_t> sizes,
                                       std::span<const Rank> reach);

struct Reduced {
    OpId result;  // completes when the result is there
    OpId read;    // completes when the operands have been read
};

// Reduce-scatter in the opposite order of rounds: `into` gets the combination of all ranks'
// operands for this rank. If `overlaps`, it may share bytes with this rank's operands. REQUIRES: an
// operation that commutes; each reach is half of the next, rounded up.
Reduced reduce_scatter_places(const Places& from, std::span<const Rank> reach, Region into,
                              bool overlaps, ScheduleBuilder& schedule);

}  // namespace weft::algorithm
