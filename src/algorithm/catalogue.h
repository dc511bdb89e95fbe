// The collectives as data, with their algorithms: for selection, tools and tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "algorithm/algorithm.h"
#include "algorithm/collective.h"

namespace weft::algorithm {

// Blocks of Problem::bytes that a buffer of the caller's holds; all: one for every rank.
enum class Blocks : std::uint8_t { none, one, all };

// On the root and on the other ranks; both the same where there is no root.
struct BlocksOn {
    Blocks root;
    Blocks others;
};

// Which buffer may be WEFT_IN_PLACE, and where: contribution and result then share the other one.
enum class InPlace : std::uint8_t { never, send, send_at_root, recv_at_root };

struct Family {
    Collective collective;
    const char* name;
    bool has_root;
    bool reduces;
    InPlace in_place;
    BlocksOn send;
    BlocksOn recv;
    std::span<const Algorithm* const> algorithms;

    bool has_in_place() const { return in_place != InPlace::never; }
    // Whether some rank has a buffer with a block of every rank.
    bool has_block_of_every_rank() const {
        return send.root == Blocks::all || recv.root == Blocks::all;
    }
    // Bytes of the caller's buffers on problem.rank.
    std::int64_t send_bytes(const Problem& problem) const;
    std::int64_t recv_bytes(const Problem& problem) const;

    // Null: not there.
    const Algorithm* find(std::string_view algorithm) const;
    // "ring, bruck"
    std::string known_names() const;
};

// By Collective.
std::span<const Family> catalogue();
const Family& family_of(Collective collective);
// Null: not there.
const Family* find_family(std::string_view collective);

}  // namespace weft::algorithm
