// Broadcast along a chain in segments, each passed on as soon as it arrives. Every rank but the
// last sends the data once, and receives one segment while it sends another: a large message
// reaches all ranks in hardly more time than one rank. Any number of ranks, any root; zero bytes
// need no messages.
#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/tree.h"

namespace weft::algorithm {
namespace {

// Segments take no memory besides the message. The more are on the way, the more a rank that shares its core passes on in
// one turn.
constexpr std::uint32_t window = 32;

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (in.agreed.bytes == 0) return ok;
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
    return ok;
}

// With one segment in flight, a rank receives the next only when it has passed on the previous one.
std::int64_t rounds(const Agreed& a) {
    std::int64_t segments = segment_count(a);
    if (segments == 0 || a.ranks == 1) return 0;
    std::int64_t pace = a.tuning.window == 1 && a.ranks > 2 ? 2 : 1;
    return pace * (segments - 1) + a.ranks - 1;
}

}  // namespace

extern const Algorithm bcast_chain = {
    .name = "chain",
    .source =
        "Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations, 2007, "
        "doi:10.1007/s10586-007-0012-0 (pipeline)",
    .tunes = Tunes::segments,
    .rounds = rounds,
    .sent_messages_max = [](const Agreed& a) { return a.ranks > 1 ? segment_count(a) : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
