// Allgather by doubling what every rank holds, in ceil(log2 ranks) rounds, the last one partial.
// Any number of ranks.
//
// Seen from rank r, place i belongs to the block of rank r + i (modulo ranks). After k rounds the
// first 2^k places are filled. A message holds consecutive places, but in the user's buffer the
// places wrap around from the last block to the first. Let half = 2^(rounds - 1): the last round
// fills the places from `half` on, all rounds before it the places below, and messages are sent
// from below only. The wrap lies either among the places below, or among those from `half` on, or
// (for two of the ranks) among neither. So one part at most goes through scratch; the other lands
// where it belongs.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// Copies places [first, last) from consecutive room, which begins with place `first`.
void put_in_place(const AllgatherArgs& in, Region room, Rank first, Rank last, OpId after,
                  ScheduleBuilder& schedule) {
    const std::int64_t bytes = in.mine.bytes;
    const Rank wrap = in.ranks - in.rank;  // the place of block 0
    const std::int64_t before = (wrap - first) * bytes;
    const std::int64_t behind = (last - wrap) * bytes;
    schedule.copy(room.part(0, before), in.all.part((in.rank + first) * bytes, before), {after});
    schedule.copy(room.part(before, behind), in.all.part(0, behind), {after});
}

Status build(const AllgatherArgs& in, ScheduleBuilder& schedule) {
    OpId own = schedule.start();
    if (!in.in_place) own = schedule.copy(in.mine, in.block(in.rank));
    if (in.ranks == 1) return ok;

    const std::int64_t bytes = in.mine.bytes;
    const int rounds = ceil_log2(in.ranks);
    const Rank half = Rank{1} << (rounds - 1);
    const bool wraps_below = in.rank + half > in.ranks;
    const bool wraps_above = in.rank + half < in.ranks && in.rank > 0;

    const Region below =
        wraps_below ? schedule.scratch(half * bytes) : in.all.part(in.rank * bytes, half * bytes);
    const std::int64_t above_bytes = (in.ranks - half) * bytes;
    const Region above = wraps_above
                             ? schedule.scratch(above_bytes)
                             : in.all.part(around(in.rank, half, in.ranks) * bytes, above_bytes);

    // filled[k]: the first 2^k places.
    OpId filled[32];
    filled[0] = wraps_below ? schedule.copy(in.mine, below.part(0, bytes)) : own;

    OpId received = no_op;
    for (int k = 0; k < rounds; ++k) {
        const Rank reach = Rank{1} << k;
        const Rank places = std::min(reach, in.ranks - reach);
        const Rank to = around(in.rank, -reach, in.ranks);
        const Rank from = around(in.rank, reach, in.ranks);
        if (places == 1) {
            schedule.send(in.mine, to);
        } else {
            schedule.send(below.part(0, places * bytes), to, {filled[ceil_log2(places)]});
        }
        const Region room = reach == half ? above : below.part(reach * bytes, reach * bytes);
        received = schedule.recv(room, from);
        if (reach < half) filled[k + 1] = schedule.join({filled[k], received});
    }
    if (wraps_below) {
        const Region others = below.part(bytes, (half - 1) * bytes);
        put_in_place(in, others, 1, half, filled[rounds - 1], schedule);
    }
    if (wraps_above) put_in_place(in, above, half, in.ranks, received, schedule);
    return ok;
}

}  // namespace

extern const Algorithm allgather_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 4 (concatenation), radix 2",
    .rounds = [](Size s) -> std::int64_t { return ceil_log2(s.ranks); },
    .sent_bytes_max = [](Size s) { return s.bytes * (s.ranks - 1); },
    .build = builds<build>,
};

}  // namespace weft::algorithm
