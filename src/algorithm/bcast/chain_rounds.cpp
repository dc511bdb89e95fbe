// Broadcast along a chain in rounds: the k-th send and the k+1-th receive share a round, and the
// next begins when both are done. Kept to show what rounds cost beside `chain`. Any number of
// ranks, any root. No bytes, no messages.
#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/tree.h"

namespace weft::algorithm {
namespace {

Status build(const BcastArgs& in, ScheduleBuilder& schedule) {
    const Tree chain = chain_tree(in.rank, in.ranks, in.root);
    const std::int64_t bytes = segment_bytes(in.data.bytes, in.element_bytes, in.tuning);
    OpId round = schedule.start();  // the end of the last one
    OpId sent = no_op;
    for (std::int64_t at = 0; at < in.data.bytes; at += bytes) {
        const Region segment = in.data.part(at, std::min(bytes, in.data.bytes - at));
        if (chain.parent) {
            OpId received = schedule.recv(segment, *chain.parent, {round});
            round = schedule.join({sent, received});
        }
        for (Rank next : chain.children) {
            sent = schedule.send(segment, next, {round});
            if (!chain.parent) round = schedule.join({sent});
        }
    }
    return ok;
}

}  // namespace

extern const Algorithm bcast_chain_rounds = {
    .name = "chain_rounds",
    .source =
        "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
        "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692",
    .tunes = Tunes::segments,
    .rounds =
        [](Size s) {
            std::int64_t segments = segment_count(s);
            return segments == 0 || s.ranks == 1 ? 0 : segments + s.ranks - 2;
        },
    .sent_messages_max = [](Size s) { return s.ranks > 1 ? segment_count(s) : 0; },
    .sent_bytes_max = [](Size s) { return s.ranks > 1 ? s.bytes : 0; },
    .build = builds<build>,
};

}  // namespace weft::algorithm
