// Reduction over a circulant graph in blocks: the broadcast's rounds backwards. In every round a
// rank sends a block that it will not get any more operands for, and combines another with what
// arrives. Any number of ranks, any root; the operation commutes. Zero bytes need no messages.
//
// Unlike the broadcast this is no repeated block: partial results outlive a phase, and a repeated
// block keeps nothing in scratch from one iteration to the next. So there are at most `blocks_max`
// blocks. Every rank has the same number of operations in every round, as in the broadcast.
#include <algorithm>
#include <utility>
#include <vector>

#include "algorithm/circulant.h"
#include "algorithm/segments.h"

namespace weft::algorithm {
namespace {

constexpr std::int64_t blocks_max = 1024;

// The call with segments so large that there are not too many.
Agreed bounded(Agreed a) {
    const std::int64_t elements = a.bytes / a.element_bytes;
    const std::int64_t least = (elements + blocks_max - 1) / blocks_max * a.element_bytes;
    a.tuning.segment_bytes = std::max(a.tuning.segment_bytes, least);
    return a;
}

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Agreed a = bounded(in.agreed);
    const std::int64_t blocks = segment_count(a);
    const Region from = in.send.block();
    if (blocks == 0 || in.ranks() == 1) {
        if (!in.in_place && blocks > 0) schedule.copy(from, in.recv.block());
        return ok;
    }
    const CirculantRounds rounds(a, in.rank, blocks);
    const std::int64_t bytes = segment_bytes(a.bytes, a.element_bytes, a.tuning);
    auto part = [&](Region vector, std::int64_t block) {
        const std::int64_t at = block * bytes;
        return vector.part(at, std::min(bytes, a.bytes - at));
    };
    Region sums = in.is_root() ? in.recv.block() : Region{};
    // The first operand for a block lands where its sum is to be, unless this rank's operand is
    // there. Others land in two buffers in turn.
    Region operand;
    Region other_operand;
    OpId free = no_op;
    OpId other_free = no_op;
    std::vector<OpId> summed(static_cast<std::size_t>(blocks), no_op);
    auto combine = [&](std::int64_t block, Rank peer) {
        if (sums.bytes == 0) sums = schedule.scratch(a.bytes);
        OpId& last = summed[static_cast<std::size_t>(block)];
        const Region sum = part(sums, block);
        if (last == no_op && !in.in_place) {
            const OpId arrived = schedule.recv(sum, peer);
            last = schedule.reduce(part(from, block), sum, {arrived});
            return;
        }
        if (operand.bytes == 0) operand = schedule.scratch(bytes);
        const Region room = operand.part(0, sum.bytes);
        const OpId arrived = schedule.recv(room, peer, {free});
        last = schedule.reduce(room, sum, {arrived, last});
        free = std::exchange(other_free, last);
        std::swap(operand, other_operand);
    };
    for (std::int64_t j = rounds.phases() - 1; j >= 0; --j) {
        for (std::size_t k = rounds.in_phase(); k-- > 0;) {
            if (const std::optional<std::int64_t> block = rounds.received(j, k)) {
                const OpId last = summed[static_cast<std::size_t>(*block)];
                schedule.send(part(last == no_op ? from : sums, *block), rounds.from(k), {last});
            } else {
                schedule.join({});
            }
            if (const std::optional<std::int64_t> block = rounds.sent(j, k)) {
                combine(*block, rounds.to(k));
            } else {
                schedule.join({});
                schedule.join({});
            }
        }
    }
    return ok;
}

std::int64_t sent_messages(const Agreed& a) { return a.ranks == 1 ? 0 : segment_count(bounded(a)); }

}  // namespace

extern const Algorithm reduce_circulant = {
    .name = "circulant",
    .source =
        "Träff: Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, "
        "All-Broadcast, Reduction and All-Reduction, 2024, arXiv:2407.18004",
    .needs = {.commutative = true},
    .tunes = Tunes::segments,
    .rounds = [](const Agreed& a) { return circulant_rounds(a, segment_count(bounded(a))); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
