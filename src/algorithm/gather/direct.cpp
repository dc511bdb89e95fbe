// Gathers straight to the root: all ranks at once, or one after the other.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void flat(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.is_root()) {
        schedule.send(in.send.block(), in.root());
        return;
    }
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    schedule.expect(static_cast<std::size_t>(in.ranks()));
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank from = around(in.root(), i, in.ranks());
        schedule.recv(in.recv.block(from), from);
    }
}

// Gather straight to the root: all ranks send at once, and the root receives in any order. Every
// block is sent once, but the root gets a message from each rank. Any number of ranks, any root.
extern const Algorithm gather_flat = {
    .name = "flat",
    .source = kaiser_2009_gather,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks > 1 ? 1 : 0; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = flat,
};

static void sequential(const Problem& in, ScheduleBuilder& schedule) {
    const Region nothing;
    if (!in.is_root()) {
        const OpId asked = schedule.recv(nothing, in.root());
        schedule.send(in.send.block(), in.root(), {asked});
        return;
    }
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    OpId arrived = schedule.start();
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank from = around(in.root(), i, in.ranks());
        schedule.send(nothing, from, {arrived});
        arrived = schedule.recv(in.recv.block(from), from);
    }
}

// Gather straight to the root, one rank after the other: the root asks each rank for its block with
// an empty message, so that blocks do not compete on the way. Any number of ranks, any root.
extern const Algorithm gather_sequential = {
    .name = "sequential",
    .source = kaiser_2009_gather,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return 2 * (a.ranks - 1); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.ranks > 1 ? a.bytes : 0; },
    .build = sequential,
};

}  // namespace weft::algorithm
