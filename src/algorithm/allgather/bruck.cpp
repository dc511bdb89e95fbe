// Allgather by rounds, each of which multiplies what a rank holds by k + 1, with k ports:
// ceil(log_(k+1) ranks) rounds, the last one may be partial. Any number of ranks.
//
// On rank r, place i is for the block of rank r + i (modulo ranks). After j rounds the first
// (k+1)^j places are filled. A message holds consecutive places, but in the user's buffer the
// places wrap around from the last block to the first. Let full = (k+1)^(rounds - 1): the last
// round fills the places from `full` on, in up to k pieces; the rounds before it fill the places
// below, and messages are sent only from these. The wrap lies among the places below, in one of the
// pieces, or between two of them. So at most one part goes through scratch; the others land where
// they belong.
#include <algorithm>

#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// Consecutive places, in the user's buffer, or in scratch if they wrap.
struct Places {
    Rank first;
    Rank last;  // one past the last
    bool wrap;
    Region room;
};

Places find_room(const Problem& in, Rank first, Rank last, ScheduleBuilder& schedule) {
    const bool wrap = first < in.ranks() - in.rank && last > in.ranks() - in.rank;
    if (wrap) return {first, last, wrap, schedule.scratch((last - first) * in.recv.bytes)};
    const Rank block = around(in.rank, first, in.ranks());
    return {first, last, wrap, in.recv.blocks(block, last - first)};
}

// Copies places that wrap from scratch to where they belong, except for the first `skip`.
void unwrap(const Problem& in, const Places& places, Rank skip, OpId after,
            ScheduleBuilder& schedule) {
    if (!places.wrap) return;
    const std::int64_t bytes = in.recv.bytes;
    const Rank first = places.first + skip;
    const Rank wrap = in.ranks() - in.rank;  // the place of block 0
    const Region before = places.room.part(skip * bytes, (wrap - first) * bytes);
    const Region behind =
        places.room.part((wrap - places.first) * bytes, (places.last - wrap) * bytes);
    schedule.copy(before, in.recv.blocks(in.rank + first, wrap - first), {after});
    schedule.copy(behind, in.recv.blocks(0, places.last - wrap), {after});
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    OpId own = schedule.start();
    if (!in.in_place) own = schedule.copy(in.send.block(), in.recv.block(in.rank));
    if (in.ranks() == 1) return ok;

    const auto radix = static_cast<Rank>(in.agreed.tuning.ports) + 1;
    const std::int64_t bytes = in.recv.bytes;
    const int rounds = ceil_log(radix, in.ranks());
    Rank full = 1;
    for (int j = 1; j < rounds; ++j) full *= radix;
    const Places below = find_room(in, 0, full, schedule);

    // filled[j]: the first radix^j places.
    OpId filled[32];
    filled[0] = below.wrap ? schedule.copy(in.send.block(), below.room.part(0, bytes)) : own;
    std::int64_t reach = 1;
    for (int j = 0; j < rounds; ++j, reach *= radix) {
        OpId so_far = filled[j];
        for (std::int64_t at = reach; at < std::min(reach * radix, std::int64_t{in.ranks()});
             at += reach) {
            const auto first = static_cast<Rank>(at);
            const auto last = static_cast<Rank>(std::min(at + reach, std::int64_t{in.ranks()}));
            const Rank to = around(in.rank, -first, in.ranks());
            const Rank from = around(in.rank, first, in.ranks());
            if (last - first == 1) {
                schedule.send(in.send.block(), to);
            } else {
                const OpId there = filled[ceil_log(radix, last - first)];
                schedule.send(below.room.part(0, (last - first) * bytes), to, {there});
            }
            if (reach < full) {
                const Region room = below.room.part(first * bytes, (last - first) * bytes);
                so_far = schedule.join({so_far, schedule.recv(room, from)});
            } else {
                const Places above = find_room(in, first, last, schedule);
                unwrap(in, above, 0, schedule.recv(above.room, from), schedule);
            }
        }
        if (reach < full) filled[j + 1] = so_far;
    }
    unwrap(in, below, 1, filled[rounds - 1], schedule);
    return ok;
}

std::int64_t sent_messages(const Agreed& a) {
    std::int64_t messages = 0;
    for (std::int64_t reach = 1; reach < a.ranks; reach *= a.tuning.ports + 1) {
        messages += std::min<std::int64_t>(a.tuning.ports, (a.ranks - 1) / reach);
    }
    return messages;
}

}  // namespace

extern const Algorithm allgather_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 4 (concatenation)",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t {
        return ceil_log(static_cast<Rank>(a.tuning.ports) + 1, a.ranks);
    },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
