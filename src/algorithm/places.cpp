#include "algorithm/places.h"

#include <algorithm>
#include <utility>

#include "shape/blocks.h"
#include "shape/ring.h"

namespace weft::algorithm {

// Blocks of one size are treated as elements of a vector.
Places::Places(const Layout& blocks, Rank rank) : rank_(rank), count_(blocks.count) {
    if (blocks.list.sizes.empty()) {
        vector_ = blocks.all();
        element_bytes_ = std::max<std::int64_t>(blocks.bytes, 1);
        return;
    }
    blocks_ = blocks;
    begin_.push_back(0);
    for (Rank i = 0; i < count(); ++i) begin_.push_back(begin_.back() + place(i).bytes);
}

Places::Places(Region vector, std::int64_t element_bytes, Rank ranks, Rank rank)
    : rank_(rank), count_(ranks), vector_(vector), element_bytes_(element_bytes) {}

Region Places::cut(std::int64_t first, std::int64_t last) const {
    if (first == last) return vector_.part(0, 0);
    auto begin = [&](std::int64_t block) {
        const std::int64_t elements = vector_.bytes / element_bytes_;
        return block_of(elements, count_, static_cast<Rank>(block)).first * element_bytes_;
    };
    return vector_.part(begin(first), begin(last) - begin(first));
}

Region Places::place(Rank i) const {
    const Rank block = around(rank_, i, count_);
    return lie_anywhere() ? blocks_.block(block) : cut(block, std::int64_t{block} + 1);
}

std::int64_t Places::bytes(Rank first, Rank last) const {
    if (lie_anywhere())
        return begin_[static_cast<std::size_t>(last)] - begin_[static_cast<std::size_t>(first)];
    const Rank wrap = std::clamp(count_ - rank_, first, last);  // the place of block 0
    const std::int64_t own = rank_;
    return cut(own + first, own + wrap).bytes + cut(own - count_ + wrap, own - count_ + last).bytes;
}

std::vector<Places::Piece> Places::pieces(Rank first, Rank last) const {
    std::vector<Piece> found;
    auto add = [&](Region region, std::int64_t at) {
        if (region.bytes > 0) found.push_back({region, at});
    };
    if (!lie_anywhere()) {
        const Rank wrap = std::clamp(count_ - rank_, first, last);
        const std::int64_t own = rank_;
        add(cut(own + first, own + wrap), 0);
        add(cut(own - count_ + wrap, own - count_ + last), bytes(first, wrap));
        return found;
    }
    for (Rank i = first; i < last; ++i) {
        const Region next = place(i);
        Region* before = found.empty() ? nullptr : &found.back().region;
        if (before && before->offset + before->bytes == next.offset) {
            before->bytes += next.bytes;
        } else {
            add(next, bytes(first, i));
        }
    }
    return found;
}

std::optional<Region> Places::together(Rank first, Rank last) const {
    const std::vector<Piece> found = pieces(first, last);
    if (found.size() > 1) return std::nullopt;
    return found.empty() ? place(first).part(0, 0) : found[0].region;
}

Packed pack(const Places& places, Rank first, Rank last, ScheduleBuilder& schedule) {
    if (const std::optional<Region> there = places.together(first, last)) return {*there};
    const Region copy = schedule.scratch(places.bytes(first, last));
    std::vector<OpId> copied;
    for (const Places::Piece& piece : places.pieces(first, last))
        copied.push_back(schedule.copy(piece.region, copy.part(piece.at, piece.region.bytes)));
    return {copy, schedule.join(copied)};
}

OpId reduce_places(const Places& from, Rank first, Rank last, Region sum, OpId ready,
                   ScheduleBuilder& schedule) {
    std::vector<OpId> reduced;
    for (const Places::Piece& piece : from.pieces(first, last)) {
        const Region into = sum.part(piece.at, piece.region.bytes);
        reduced.push_back(schedule.reduce(piece.region, into, {ready}));
    }
    return reduced.size() == 1 ? reduced[0] : schedule.join(reduced);
}

void unpack(const Places& all, Rank first, Rank last, Region packed, ScheduleBuilder::After after,
            ScheduleBuilder& schedule) {
    for (const Places::Piece& piece : all.pieces(first, last))
        schedule.copy(packed.part(piece.at, piece.region.bytes), piece.region, after);
}

// Messages are sent from the places that are filled before the last round. If these are not
// contiguous, they are gathered in scratch.
void gather_places(const Places& all, std::span<const Rank> reach, const OwnBlock& own, OpId unread,
                   ScheduleBuilder& schedule) {
    const std::size_t rounds = reach.size() - 1;
    if (rounds == 0) return;
    const Rank full = reach[rounds - 1];
    const std::optional<Region> there = all.together(0, full);
    const Region below = there ? *there : schedule.scratch(all.bytes(0, full));
    auto part = [&](std::int64_t first, std::int64_t last) {
        const auto begin = static_cast<Rank>(first);
        const auto end = static_cast<Rank>(last);
        return below.part(all.bytes(0, begin), all.bytes(begin, end));
    };

    std::vector<OpId> filled;  // by round: the places that it starts with
    filled.push_back(there ? own.placed : schedule.copy(own.block, part(0, 1), {own.ready}));
    for (std::size_t j = 0; j < rounds; ++j) {
        OpId so_far = filled[j];
        for (std::int64_t at = reach[j]; at < reach[j + 1]; at += reach[j]) {
            const auto first = static_cast<Rank>(at);
            const auto last =
                static_cast<Rank>(std::min<std::int64_t>(at + reach[j], reach[j + 1]));
            const Rank to = around(all.rank(), -first, all.count());
            const Rank from = around(all.rank(), first, all.count());
            if (last - first == 1) {
                schedule.send(own.block, to, {own.ready});
            } else {
                const auto enough = std::ranges::lower_bound(reach, last - first) - reach.begin();
                schedule.send(part(0, last - first), to,
                              {filled[static_cast<std::size_t>(enough)]});
            }
            if (j + 1 < rounds) {
                const OpId came = schedule.recv(part(first, last), from, {there ? unread : no_op});
                so_far = schedule.join({so_far, came});
            } else if (const std::optional<Region> above = all.together(first, last)) {
                schedule.recv(*above, from, {unread});
            } else {
                const Region room = schedule.scratch(all.bytes(first, last));
                const OpId came = schedule.recv(room, from);
                unpack(all, first, last, room, {came, unread}, schedule);
            }
        }
        filled.push_back(so_far);
    }
    if (!there && full > 1)
        unpack(all, 1, full, part(1, full), {filled[rounds - 1], unread}, schedule);
}

void gather_places(const Problem& in, std::span<const Rank> reach, ScheduleBuilder& schedule) {
    OwnBlock own = {.block = in.send.block()};
    if (!in.in_place) own.placed = schedule.copy(own.block, in.recv.block(in.rank));
    gather_places(Places(in.recv, in.rank), reach, own, schedule.start(), schedule);
}

std::vector<std::int64_t> gather_bytes(std::span<const std::int64_t> sizes,
                                       std::span<const Rank> reach) {
    std::vector<std::int64_t> bytes(sizes.size());
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
        for (std::size_t j = 0; j + 1 < reach.size(); ++j) {
            for (Rank i = 0; i < reach[j + 1] - reach[j]; ++i)
                bytes[rank] += sizes[(rank + static_cast<std::size_t>(i)) % sizes.size()];
        }
    }
    return bytes;
}

Reduced reduce_scatter_places(const Places& from, std::span<const Rank> reach, Region into,
                              bool overlaps, ScheduleBuilder& schedule) {
    const std::size_t rounds = reach.size() - 1;
    if (rounds == 0) {
        const OpId copied = overlaps ? no_op : schedule.copy(from.place(0), into);
        return {copied, copied};
    }
    // The first round sends the places from `full` on, of this rank's operands; what arrives is
    // added to the first of the others.
    const Rank ranks = from.count();
    const Rank full = reach[rounds - 1];
    const Rank half = ranks - full;
    auto peers = [&](Rank skip) {
        return Neighbours{around(from.rank(), -skip, ranks), around(from.rank(), skip, ranks)};
    };
    const Packed given = pack(from, full, ranks, schedule);
    const OpId sent = schedule.send(given.region, peers(full).to, {given.ready});
    const bool is_result = rounds == 1 && !overlaps;
    const Region sums = is_result ? into : schedule.scratch(from.bytes(0, full));
    auto sum = [&](Rank first, Rank last) {
        return sums.part(from.bytes(0, first), from.bytes(first, last));
    };
    const OpId came = schedule.recv(sum(0, half), peers(full).from);
    OpId result = reduce_places(from, 0, half, sum(0, half), came, schedule);
    // The place in the middle is only copied.
    OpId odd = half < full ? schedule.copy(from.place(half), sum(half, full)) : no_op;
    const OpId given_read = given.ready == no_op ? sent : given.ready;
    const OpId read = overlaps ? schedule.join({given_read, result, odd}) : no_op;

    OpId result_before = no_op;
    for (std::size_t k = rounds - 1; k-- > 0;) {
        const Rank skip = reach[k];
        const Rank number = reach[k + 1] - skip;
        const bool changed = reach[k + 2] - reach[k + 1] > skip;  // by the round before
        schedule.send(sum(skip, reach[k + 1]), peers(skip).to,
                      {changed ? result : result_before, std::exchange(odd, no_op)});
        const Region operand = k == 0 ? into : schedule.scratch(from.bytes(0, number));
        const OpId arrived = schedule.recv(operand, peers(skip).from, {k == 0 ? read : no_op});
        result_before = result;
        result = k == 0 ? schedule.reduce(sum(0, 1), into, {result, arrived})
                        : schedule.reduce(operand, sum(0, number), {result, arrived});
    }
    if (rounds == 1 && overlaps) result = schedule.copy(sums, into, {result, read});
    return {result, read};
}

}  // namespace weft::algorithm
