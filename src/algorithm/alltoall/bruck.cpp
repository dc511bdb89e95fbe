// Alltoall in ceil(log2 ranks) rounds: a block for the rank i ahead travels in steps of the powers
// of two that add up to i. Any number of ranks. For small blocks, because each is sent several
// times.
//
// On rank r, place i holds the block for rank r + i (modulo ranks). In round k the places with bit
// k set are sent 2^k ranks ahead, and the blocks that arrive take their places. At the end place i
// holds the block from rank r - i.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// Copies the places with bit k set between `places` and `packed`, where they are consecutive.
// Returns the join of all copies.
OpId copy_runs(Rank ranks, int k, Region places, Region packed, bool pack, OpId after,
               ScheduleBuilder& schedule) {
    const std::int64_t bytes = places.bytes / ranks;
    const std::int64_t length = std::int64_t{1} << k;
    std::vector<OpId> copied;
    std::int64_t at = 0;
    for (std::int64_t first = length; first < ranks; first += 2 * length) {
        const std::int64_t run = std::min(length, ranks - first) * bytes;
        const Region place = places.part(first * bytes, run);
        const Region room = packed.part(at, run);
        copied.push_back(pack ? schedule.copy(place, room, {after})
                              : schedule.copy(room, place, {after}));
        at += run;
    }
    return schedule.join(copied);
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block(in.rank));
    if (in.ranks() == 1) return ok;

    const Region places = schedule.scratch(in.ranks() * in.recv.bytes);
    std::vector<OpId> copied;
    for (const Places::Piece& piece : Places(in.send, in.rank).pieces(0, in.ranks()))
        copied.push_back(schedule.copy(piece.region, places.part(piece.at, piece.region.bytes)));
    OpId ready = schedule.join(copied);

    for (int k = 0; k < ceil_log2(in.ranks()); ++k) {
        const Neighbours peers = dissemination_peers(in.rank, in.ranks(), k);
        const std::int64_t bytes = count_with_bit(in.ranks(), k) * in.recv.bytes;
        const Region out = schedule.scratch(bytes);
        const Region arriving = schedule.scratch(bytes);
        const OpId packed = copy_runs(in.ranks(), k, places, out, true, ready, schedule);
        schedule.send(out, peers.to, {packed});
        const OpId arrived = schedule.recv(arriving, peers.from);
        const OpId free = schedule.join({packed, arrived});
        ready = copy_runs(in.ranks(), k, places, arriving, false, free, schedule);
    }
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank from = around(in.rank, -i, in.ranks());
        schedule.copy(places.part(i * in.recv.bytes, in.recv.bytes), in.recv.block(from), {ready});
    }
    return ok;
}

std::int64_t sent_bytes(const Agreed& a) {
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
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
