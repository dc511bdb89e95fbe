// Broadcasts along a chain, in segments.
#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/tree.h"

namespace weft::algorithm {

// Segments take no memory besides the message. The more are on the way, the more a rank that shares
// its core passes on in one turn.
constexpr std::uint32_t window = 32;

static void chain(const Problem& in, ScheduleBuilder& schedule) {
    if (in.agreed.bytes == 0) return;
    const Tree chain = chain_tree(in.rank, in.ranks(), in.root());
    const std::int64_t bytes =
        segment_bytes(in.agreed.bytes, in.agreed.element_bytes, in.agreed.tuning);
    const Region segment = in.recv.block().part(0, bytes);
    schedule.repeat_begin({.total_bytes = in.agreed.bytes,
                           .block_bytes = bytes,
                           .window = in.agreed.tuning.window.value_or(window)});
    OpId ready = schedule.start();
    if (chain.parent) ready = schedule.recv(segment, *chain.parent);
    for (Rank next : chain.children) schedule.send(segment, next, {ready});
    schedule.repeat_end();
}

// With one segment in flight, a rank receives the next only when it has passed on the previous one.
static std::int64_t rounds(const GlobalArgs& a) {
    std::int64_t segments = segment_count(a);
    if (segments == 0 || a.ranks == 1) return 0;
    std::int64_t pace = a.tuning.window == 1 && a.ranks > 2 ? 2 : 1;
    return pace * (segments - 1) + a.ranks - 1;
}

// Broadcast along a chain in segments, each passed on as soon as it arrives. Every rank but the
// last sends the data once, and receives one segment while it sends another: a large message
// reaches all ranks in hardly more time than one rank. Any number of ranks, any root; zero bytes
// need no messages.
extern const Algorithm bcast_chain = {
    .name = "chain",
    .source =
        "Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations, 2007, "
        "doi:10.1007/s10586-007-0012-0 (pipeline)",
    .tunes = Tunes::segments,
    .rounds = rounds,
    .sent_messages_max = [](const GlobalArgs& a) { return a.ranks > 1 ? segment_count(a) : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = chain,
};

static void chain_rounds(const Problem& in, ScheduleBuilder& schedule) {
    const Tree chain = chain_tree(in.rank, in.ranks(), in.root());
    const std::int64_t bytes =
        segment_bytes(in.agreed.bytes, in.agreed.element_bytes, in.agreed.tuning);
    OpId round = schedule.start();  // the end of the last round
    OpId sent = no_op;
    for (std::int64_t at = 0; at < in.agreed.bytes; at += bytes) {
        const Region segment = in.recv.block().part(at, std::min(bytes, in.agreed.bytes - at));
        if (chain.parent) {
            OpId received = schedule.recv(segment, *chain.parent, {round});
            round = schedule.join({sent, received});
        }
        for (Rank next : chain.children) {
            sent = schedule.send(segment, next, {round});
            if (!chain.parent) round = schedule.join({sent});
        }
    }
}

// Broadcast along a chain in rounds: the k-th send and the (k+1)-th receive share a round, and the
// next round begins when both have completed. Kept to show, compared with `chain`, what rounds
// cost. Any number of ranks, any root; zero bytes need no messages.
extern const Algorithm bcast_chain_rounds = {
    .name = "chain_rounds",
    .source = hoefler_2007,
    .tunes = Tunes::segments,
    .rounds =
        [](const GlobalArgs& a) {
            std::int64_t segments = segment_count(a);
            return segments == 0 || a.ranks == 1 ? 0 : segments + a.ranks - 2;
        },
    .sent_messages_max = [](const GlobalArgs& a) { return a.ranks > 1 ? segment_count(a) : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = chain_rounds,
};

}  // namespace weft::algorithm
