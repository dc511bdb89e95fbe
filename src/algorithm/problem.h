// A call as an algorithm sees it: what all ranks know about it, and where this rank's blocks lie.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "algorithm/collective.h"
#include "schedule/schedule.h"
#include "shape/neighborhood.h"
#include "shape/topology.h"

namespace weft {
class Torus;
}  // namespace weft

namespace weft::algorithm {

struct Algorithm;

// An algorithm's parameters; the same on every rank.
struct Tuning {
    std::int64_t segment_bytes = 128 * 1024;   // pipelines
    std::optional<std::uint32_t> window = {};  // pipelines: segments in flight; none: as suits each
    std::uint32_t ports = 1;                   // messages that a rank sends and receives at a time
    Rank radix() const { return static_cast<Rank>(ports) + 1; }
    bool throttle = false;             // trees: a rank sends one message after the other
    const Algorithm* inner = nullptr;  // how leaders exchange; null: the hierarchy's own choice
    std::uint32_t leaders = 0;         // of each node; 0: one for every few ranks
};

// What all ranks know about a call. Selection, needs and claims see nothing else.
struct GlobalArgs {
    Collective collective = Collective::barrier;
    Rank ranks = 1;
    Rank root = 0;
    // Bytes of a block: what one rank contributes or gets. If blocks differ, the mean; if each rank
    // knows only its own, -1.
    std::int64_t bytes = 0;
    std::span<const std::int64_t> sizes = {};  // by rank, if blocks differ and all ranks know them
    std::int64_t element_bytes = 1;            // data is cut only between elements
    bool commutative = true;                   // operands may be combined in any order
    bool reproducible =
        false;  // by one association (Postcondition::reproducible); never if commutative
    bool combines = false;  // operands can be combined on arrival (transport.h: Combining)
    const Topology* topology = nullptr;  // which ranks share a node; null: all share one
    const Torus* torus = nullptr;        // the network between the ranks, if it was declared
    Tuning tuning = {};

    // Bytes of a rank's block, and of all blocks. REQUIRES: all ranks know them.
    std::int64_t block_bytes(Rank rank) const {
        return sizes.empty() ? bytes : sizes[static_cast<std::size_t>(rank)];
    }
    std::int64_t total_bytes() const;
    // All blocks but the smallest; 0 for a single rank.
    std::int64_t bytes_of_others_max() const;
};

// The blocks of a buffer that has one for every rank or neighbor, if they differ. Its maker keeps
// the arrays alive.
struct BlockList {
    std::span<const std::int64_t> sizes = {};
    std::span<const std::int64_t> offsets = {};
};

// Blocks in one of the call's buffers.
struct Layout {
    Buffer buffer = Buffer::send;
    Rank count = 0;
    std::int64_t offset = 0;  // of the first
    std::int64_t bytes = 0;   // of each; contiguous
    BlockList list = {};      // if they differ; relative to `offset`

    Region block(Rank i = 0) const {
        if (list.sizes.empty()) return {buffer, offset + i * bytes, bytes};
        const auto n = static_cast<std::size_t>(i);
        return {buffer, offset + list.offsets[n], list.sizes[n]};
    }
    // Consecutive blocks as one region. REQUIRES: they are contiguous.
    Region blocks(Rank first, Rank number) const {
        if (list.sizes.empty() || number == 0)
            return {buffer, offset + first * bytes, number * bytes};
        const Region last = block(first + number - 1);
        const Region whole = block(first);
        return {buffer, whole.offset, last.offset + last.bytes - whole.offset};
    }
    Region all() const { return blocks(0, count); }
    // Bytes of the buffer up to the end of the last block.
    std::int64_t reach() const;
};

// One rank's part in a call. In place, contribution and result lie in the same buffer.
struct Problem {
    GlobalArgs agreed;
    Rank rank = 0;
    bool in_place = false;                    // on this rank
    Layout send;                              // what this rank contributes
    Layout recv;                              // what it gets
    const Neighborhood* neighbors = nullptr;  // if the collective is among neighbors

    Rank ranks() const { return agreed.ranks; }
    Rank root() const { return agreed.root; }
    bool is_root() const { return rank == agreed.root; }
    // Bytes of the caller's buffers.
    std::int64_t send_bytes() const { return reach(Buffer::send); }
    std::int64_t recv_bytes() const { return reach(Buffer::recv); }

  private:
    std::int64_t reach(Buffer buffer) const;
};

}  // namespace weft::algorithm
