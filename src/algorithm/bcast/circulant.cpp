// Broadcast over a circulant graph in blocks: in every round a rank receives a block and sends
// another. It takes the fewest rounds possible. Any number of ranks, any root; zero bytes need no
// messages.
//
// Every rank has the same number of operations in every round, so that schedule order means the
// same on all ranks: messages of earlier rounds come first. A join stands in for a missing message.
#include <algorithm>
#include <vector>

#include "algorithm/circulant.h"
#include "algorithm/segments.h"

namespace weft::algorithm {
namespace {

void build(const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t blocks = segment_count(in.agreed);
    if (blocks == 0 || in.ranks() == 1) return;
    const CirculantRounds rounds(in.agreed, in.rank, blocks);
    const std::int64_t bytes =
        segment_bytes(in.agreed.bytes, in.agreed.element_bytes, in.agreed.tuning);
    auto region = [&](std::int64_t block) {
        const std::int64_t at = block * bytes;
        return in.recv.block().part(at, std::min(bytes, in.agreed.bytes - at));
    };

    std::vector<OpId> came(rounds.in_phase(), no_op);  // by round of the phase
    OpId first_came = no_op;                           // in the phase before
    std::vector<OpId> sends_of_it;                     // in this phase
    auto phase = [&](std::int64_t j) {
        sends_of_it.clear();
        for (std::size_t k = 0; k < rounds.in_phase(); ++k) {
            if (const std::optional<std::int64_t> block = rounds.sent(j, k)) {
                OpId ready = schedule.start();
                bool is_phase_before = false;
                if (!in.is_root()) {
                    const CirculantRounds::Arrival arrival = rounds.arrival(k);
                    is_phase_before = arrival.is_phase_before;
                    ready = is_phase_before ? first_came : came[arrival.round];
                }
                const OpId sent = schedule.send(region(*block), rounds.to(k), {ready});
                if (is_phase_before) sends_of_it.push_back(sent);
            } else {
                schedule.join({});
            }
            const std::optional<std::int64_t> block = rounds.received(j, k);
            came[k] = block ? schedule.recv(region(*block), rounds.from(k)) : schedule.join({});
        }
        first_came = came[rounds.first_round()];
    };

    // All phases but the first one or two and the last are alike: a repeated block. The window
    // counts phases.
    const std::int64_t last = rounds.phases() - 1;
    const std::int64_t alike = std::min(rounds.first_alike(), last);
    for (std::int64_t j = 0; j < alike; ++j) phase(j);
    if (alike < last) {
        const auto in_phase = static_cast<std::int64_t>(rounds.in_phase());
        const std::uint32_t window = in.agreed.tuning.window.value_or(8);
        schedule.repeat_begin({.total_bytes = (last - alike) * in_phase * bytes,
                               .block_bytes = bytes,
                               .window = window,
                               .per_iteration = in_phase});
        phase(alike);
        for (const OpId sent : sends_of_it) {
            if (window > 1) schedule.order(first_came, sent, 1);
        }
        first_came = schedule.repeat_end();
    }
    phase(last);
}

std::int64_t sent_bytes(const GlobalArgs& a) {
    const std::int64_t blocks = segment_count(a);
    if (blocks == 0 || a.ranks == 1) return 0;
    const std::int64_t bytes = segment_bytes(a.bytes, a.element_bytes, a.tuning);
    std::int64_t most = 0;
    for (Rank rank = 0; rank < a.ranks; ++rank) {
        const CirculantRounds rounds(a, rank, blocks);
        most = std::max(most, rounds.sent_bytes(bytes, a.bytes - (blocks - 1) * bytes));
    }
    return most;
}

}  // namespace

extern const Algorithm bcast_circulant = {
    .name = "circulant",
    .source = traff_2024_broadcast,
    .tunes = Tunes::segments,
    .rounds = [](const GlobalArgs& a) { return circulant_rounds(a, segment_count(a)); },
    // By the root: it sends in every round.
    .sent_messages_max = [](const GlobalArgs& a) { return circulant_rounds(a, segment_count(a)); },
    .sent_bytes_max = sent_bytes,
    .build = build,
};

}  // namespace weft::algorithm
