// The description of a collective, for the library, the tools and the tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/algorithm.h"
#include "schedule/postcondition.h"

namespace weft::algorithm {

// Block `block` of what `rank` contributes, or gets.
struct BlockOf {
    Rank rank = 0;
    Rank block = 0;
};

// Builds a collective's promise from the problems of all ranks.
class Postconditions {
  public:
    // The problems say what the ranks contribute. REQUIRES: one problem per rank.
    explicit Postconditions(std::span<const Problem> problems);

    Rank ranks() const { return problems_.front().ranks(); }
    Rank root() const { return problems_.front().root(); }
    const Neighborhood& neighbors(Rank rank) const { return *problem(rank).neighbors; }

    // At the end `into` holds what `from` held.
    void move(BlockOf from, BlockOf into);
    // At the end `into` holds the combination of block `block` of all `sources`.
    void combine(Sources sources, Rank block, BlockOf into);
    Sources everyone() const { return {0, ranks() - 1}; }
    // No rank leaves before every rank has entered.
    void synchronize() { promise_.synchronizes = true; }

    Postcondition take() { return std::move(promise_); }

  private:
    const Problem& problem(Rank rank) const { return problems_[static_cast<std::size_t>(rank)]; }
    void hold(Sources sources, Rank block, BlockOf into);

    std::span<const Problem> problems_;
    std::vector<std::vector<std::int64_t>> origins_;  // by rank and block: within its contribution
    Postcondition promise_;
};

// How many blocks a caller's buffer holds; all: one per rank; neighbors: one per neighbor.
enum class Blocks : std::uint8_t { none, one, all, neighbors };

// Whether there is one for each of several ranks. If blocks differ, a call lists their sizes.
constexpr bool are_for_each(Blocks blocks) {
    return blocks == Blocks::all || blocks == Blocks::neighbors;
}
// How many; `neighbors`: those that the buffer has blocks for.
Rank number_of(Blocks blocks, Rank ranks, std::span<const Rank> neighbors);

// On the root and on the other ranks; the same if there is no root.
struct BlocksOn {
    Blocks root = Blocks::none;
    Blocks others = Blocks::none;
};

constexpr BlocksOn everywhere(Blocks blocks) { return {blocks, blocks}; }
constexpr BlocksOn at_root(Blocks blocks) { return {blocks, Blocks::none}; }

// Which buffer may be WEFT_IN_PLACE, and where. Contribution and result then share the other one.
// root_has_one_buffer: the root has one buffer for both anyway (bcast).
enum class InPlace : std::uint8_t { never, send, send_at_root, recv_at_root, root_has_one_buffer };

// Whether the blocks of a call differ in size. agreed: all ranks know all sizes. local: a rank
// knows those in its own buffers. uniform_per_rank: a rank's blocks have one size, which may differ
// from another rank's.
enum class Sizes : std::uint8_t { uniform, known_to_all, rank_local, uniform_per_rank };

// What one rank's call says about its blocks.
struct LocalBlocks {
    // If blocks differ, those of a buffer that has one for every rank or neighbor.
    BlockList send = {};
    BlockList recv = {};
    std::int64_t bytes = 0;  // local: of the only block of a buffer; uniform_per_rank: of each
    const Neighborhood* neighbors = nullptr;  // if the collective is among neighbors
};

// A collective, as algorithm/catalogue.cpp describes it.
struct CollectiveSpec {
    Collective collective;
    const char* name;
    bool has_root = false;
    bool reduces = false;
    InPlace in_place = InPlace::never;
    BlocksOn send = {};
    BlocksOn recv = {};
    Sizes sizes = Sizes::uniform;
    bool has_types = false;  // one per block; displacements count bytes
    bool is_prefix = false;  // a rank's result is that of the ranks up to it
    void (*promise)(Postconditions&);
    std::span<const Algorithm* const> algorithms;

    // Whether the caller can choose to be in place.
    bool has_in_place() const {
        return in_place != InPlace::never && in_place != InPlace::root_has_one_buffer;
    }
    // Whether it moves any: all but barrier.
    bool has_data() const { return send.root != Blocks::none; }
    // Whether some rank's buffer holds a block of every rank.
    bool has_block_of_every_rank() const {
        return send.root == Blocks::all || recv.root == Blocks::all;
    }
    bool is_among_neighbors() const {
        return among_neighbors[static_cast<std::size_t>(collective)];
    }
    // Whether the call lists sizes of blocks.
    bool lists_blocks() const { return sizes == Sizes::known_to_all || sizes == Sizes::rank_local; }
    // Whether all ranks know how large blocks are.
    bool agrees_on_sizes() const { return sizes == Sizes::uniform || sizes == Sizes::known_to_all; }
    // Whether an in-place call is in place on this rank.
    bool is_in_place_on(bool is_root) const {
        return in_place == InPlace::send || (has_in_place() && is_root);
    }

    Blocks send_blocks(bool is_root) const { return is_root ? send.root : send.others; }
    Blocks recv_blocks(bool is_root) const { return is_root ? recv.root : recv.others; }

    // One rank's part. `in_place`: if it may be.
    Problem problem(const GlobalArgs& agreed, Rank rank, bool in_place,
                    const LocalBlocks& own = {}) const;
    // What a call promises, given all ranks' parts.
    Postcondition promise_of(std::span<const Problem> problems) const;

    // Null: unknown.
    const Algorithm* find(std::string_view algorithm) const;
    std::string known_names() const;
    // The algorithms by which leaders of nodes can exchange (Tuning::inner).
    std::vector<const Algorithm*> flat_algorithms() const;
};

// "ring, bruck"
std::string names_of(std::span<const Algorithm* const> algorithms);

}  // namespace weft::algorithm
