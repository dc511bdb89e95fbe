// Broadcast along a chain in rounds: the k-th send and the (k+1)-th receive share a round, and the
// next round begins when both have completed. Kept to show, compared with `chain`, what rounds
// cost. Any number of ranks, any root; zero bytes need no messages.
#include "algorithm/algorithm.h"
#include "algorithm/segments.h"
#include "shape/tree.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
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
        [](const Agreed& a) {
            std::int64_t segments = segment_count(a);
            return segments == 0 || a.ranks == 1 ? 0 : segments + a.ranks - 2;
        },
    .sent_messages_max = [](const Agreed& a) { return a.ranks > 1 ? segment_count(a) : 0; },
    .sent_bytes_max = [](const Agreed& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = build,
};

}  // namespace weft::algorithm
