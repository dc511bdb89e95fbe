// Alltoall in ceil(log2 ranks) rounds: a block for the rank i ahead travels in steps of the powers
// of two that add up to i, the largest first. Any number of ranks. For small blocks, because each
// is sent several times.
//
// On rank r, place i holds the block for rank r + i (modulo ranks). In the round of 2^k the places
// with bit k set are sent 2^k ranks ahead in ascending order, and those that arrive take their
// place. At the end place i holds the block from rank r - i. Blocks stay where they arrived until
// they are sent on: each is copied once a round.
#include <algorithm>
#include <bit>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// The blocks that arrived in a round: at their places, those with the round's bit, in ascending
// order.
struct ArrivedBlocks {
    Region blocks;
    OpId there = no_op;
};

void build(const Problem& in, ScheduleBuilder& schedule) {
    std::vector<ArrivedBlocks> arrivals(static_cast<std::size_t>(ceil_log2(in.ranks())));  // by bit
    // About as many copies when packing as at the end.
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()) + 4 * arrivals.size());
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block(in.rank));
    const std::int64_t bytes = in.recv.bytes;
    const Places contribution(in.send, in.rank);
    // The blocks at [first, end) when all higher bits have had their rounds. REQUIRES: the lowest
    // of these that is set is the same for all of them.
    const auto arrived = [&](std::int64_t first, std::int64_t end, int higher) {
        const int bit = higher + std::countr_zero(static_cast<std::uint64_t>(first >> higher));
        const ArrivedBlocks& arrival = arrivals[static_cast<std::size_t>(bit)];
        const std::int64_t before = count_with_bit(static_cast<Rank>(first), bit);
        return ArrivedBlocks{arrival.blocks.part(before * bytes, (end - first) * bytes),
                             arrival.there};
    };
    std::vector<OpId> copied;
    std::vector<OpId> contribution_read;
    for (int k = ceil_log2(in.ranks()) - 1; k >= 0; --k) {
        const Neighbours peers = dissemination_peers(in.rank, in.ranks(), k);
        const Region arriving = schedule.scratch(count_with_bit(in.ranks(), k) * bytes);
        arrivals[static_cast<std::size_t>(k)] = {arriving, schedule.recv(arriving, peers.from)};
        // Those below 2^(k + 1) are the contribution's. Of the others, 2^k in a row are in one
        // piece.
        const std::int64_t size = std::int64_t{1} << k;
        const auto end_of = [&](std::int64_t first) {
            return std::min<std::int64_t>(first + size, in.ranks());
        };
        const std::vector<Places::Piece> own =
            contribution.pieces(static_cast<Rank>(size), static_cast<Rank>(end_of(size)));
        if (own.size() == 1 && 3 * size >= in.ranks()) {
            contribution_read.push_back(schedule.send(own[0].region, peers.to));
            continue;
        }
        const Region packed = schedule.scratch(arriving.bytes);
        std::int64_t at = 0;
        copied.clear();
        const auto pack = [&](Region from, OpId there) {
            copied.push_back(schedule.copy(from, packed.part(at, from.bytes), {there}));
            at += from.bytes;
        };
        for (const Places::Piece& piece : own) pack(piece.region, no_op);
        contribution_read.insert(contribution_read.end(), copied.begin(), copied.end());
        for (std::int64_t first = 3 * size; first < in.ranks(); first += 2 * size) {
            const ArrivedBlocks from = arrived(first, end_of(first), k + 1);
            pack(from.blocks, from.there);
        }
        schedule.send(packed, peers.to, {schedule.join(copied)});
    }
    const OpId overwritable = in.in_place ? schedule.join(contribution_read) : no_op;
    for (Rank place = 1; place < in.ranks(); ++place) {
        const ArrivedBlocks from = arrived(place, place + 1, 0);
        const Region into = in.recv.block(around(in.rank, -place, in.ranks()));
        schedule.copy(from.blocks, into, {from.there, overwritable});
    }
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    std::int64_t blocks = 0;
    for (int k = 0; k < ceil_log2(a.ranks); ++k) blocks += count_with_bit(a.ranks, k);
    return blocks * a.bytes;
}

}  // namespace

extern const Algorithm alltoall_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 3 (index), radix 2",
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
