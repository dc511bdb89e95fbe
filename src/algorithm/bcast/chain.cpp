// Broadcast along a chain in segments, each passed on as soon as it is there. Any number of ranks,
// any root. No bytes, no messages.
#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/tree.h"

namespace weft::algorithm {
namespace {

Status build(const BcastArgs& in, ScheduleBuilder& schedule) {
    if (in.data.bytes == 0) return ok;
    const Tree chain = chain_tree(in.rank, in.ranks, in.root);
    const std::int64_t bytes = segment_bytes(in.data.bytes, in.element_bytes, in.tuning);
    const Region segment = in.data.part(0, bytes);
    schedule.repeat_begin(
        {.total_bytes = in.data.bytes, .block_bytes = bytes, .window = in.tuning.window});
    OpId ready = schedule.start();
    if (chain.parent) ready = schedule.recv(segment, *chain.parent);
    for (Rank next : chain.children) schedule.send(segment, next, {ready});
    schedule.repeat_end();
    return ok;
}

// A rank with one segment in flight receives the next when it has passed on the last.
std::int64_t rounds(Size s) {
    std::int64_t segments = segment_count(s);
    if (segments == 0 || s.ranks == 1) return 0;
    std::int64_t pace = s.tuning.window == 1 && s.ranks > 2 ? 2 : 1;
    return pace * (segments - 1) + s.ranks - 1;
}

}  // namespace

extern const Algorithm bcast_chain = {
    .name = "chain",
    .source =
        "Pjesivac-Grbovic et al.: Performance analysis of MPI collective operations, 2007, "
        "doi:10.1007/s10586-007-0012-0 (pipeline)",
    .tunes = Tunes::segments,
    .rounds = rounds,
    .sent_messages_max = [](Size s) { return s.ranks > 1 ? segment_count(s) : 0; },
    .sent_bytes_max = [](Size s) { return s.ranks > 1 ? s.bytes : 0; },
    .build = builds<build>,
};

}  // namespace weft::algorithm
