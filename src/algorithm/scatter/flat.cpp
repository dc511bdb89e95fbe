// Scatter straight from the root: it sends every rank its block, all at once. Every block is sent
// once, but the root sends all messages. Any number of ranks, any root.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.is_root()) {
        schedule.recv(in.recv.block(), in.root());
        return ok;
    }
    schedule.expect(static_cast<std::size_t>(in.ranks()));
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank to = around(in.root(), i, in.ranks());
        schedule.send(in.send.block(to), to);
    }
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block());
    return ok;
}

}  // namespace

extern const Algorithm scatter_flat = {
    .name = "flat",
    .source =
        "Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, "
        "and experience, 2007, doi:10.1002/cpe.1206",
    .rounds = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
