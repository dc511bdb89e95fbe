// What the library, the tools and the tests are told of a collective.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/promises.h"

namespace weft::algorithm {

// Blocks that a buffer of the caller's holds; all: one for every rank.
enum class Blocks : std::uint8_t { none, one, all };

// On the root and on the other ranks; both the same where there is no root.
struct BlocksOn {
    Blocks root = Blocks::none;
    Blocks others = Blocks::none;
};

constexpr BlocksOn everywhere(Blocks blocks) { return {blocks, blocks}; }
constexpr BlocksOn at_root(Blocks blocks) { return {blocks, Blocks::none}; }

// Which buffer may be WEFT_IN_PLACE, and where: contribution and result then share the other one.
// root_has_one_buffer: there is one buffer for both (bcast).
enum class InPlace : std::uint8_t { never, send, send_at_root, recv_at_root, root_has_one_buffer };

// A collective. One of these in algorithm/<collective>/collective.cpp describes it to the library, the
// tools and the tests.
struct Family {
    Collective collective;
    const char* name;
    bool has_root = false;
    bool reduces = false;
    InPlace in_place = InPlace::never;
    BlocksOn send = {};
    BlocksOn recv = {};
    bool blocks_differ = false;  // from rank to rank; all ranks know how
    void (*promise)(Promises&);
    std::span<const Algorithm* const> algorithms;

    // In place is a choice of the caller's.
    bool has_in_place() const {
        return in_place != InPlace::never && in_place != InPlace::root_has_one_buffer;
    }
    // Whether some rank has a buffer with a block of every rank.
    bool has_block_of_every_rank() const {
        return send.root == Blocks::all || recv.root == Blocks::all;
    }
    // Whether a call that is in place is so on this rank.
    bool is_in_place_on(bool is_root) const {
        return in_place == InPlace::send || (has_in_place() && is_root);
    }

    // The part of one rank, and of every rank. `in_place`: the call is, wherever it may be. `offsets`: of
    // blocks that differ; kept by the caller, as agreed.sizes are.
    Problem problem(const Agreed& agreed, Rank rank, bool in_place,
                    std::span<const std::int64_t> offsets = {}) const;
    std::vector<Problem> problems(const Agreed& agreed, bool in_place,
                                  std::span<const std::int64_t> offsets = {}) const;
    // What a call promises, from the parts of all ranks.
    Promise promise_of(std::span<const Problem> problems) const;

    // Null: not there.
    const Algorithm* find(std::string_view algorithm) const;
    // "ring, bruck"
    std::string known_names() const;
};

}  // namespace weft::algorithm
