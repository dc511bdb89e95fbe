// Allgathers in which every block travels on its own: around a ring, or straight to every rank.
#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void ring(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Neighbours beside = ring_neighbours(in.rank, in.ranks());
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    Region block = in.send.block();
    OpId ready = schedule.start();
    for (Rank step = 1; step < in.ranks(); ++step) {
        schedule.send(block, beside.to, {ready});
        block = in.recv.block(around(in.rank, -step, in.ranks()));
        ready = schedule.recv(block, beside.from);
    }
}

// Allgather around a ring: every rank sends its block to the next rank, then passes on the block it
// received last, until each block has been everywhere. Only neighbors exchange messages, and every
// block arrives at its final place: for large blocks. Any number of ranks.
extern const Algorithm allgather_ring = {
    .name = "ring",
    .source = thakur_2005,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes_of_others_max(); },
    .build = ring,
};

static void linear(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.in_place) schedule.copy(in.send.block(), in.recv.block(in.rank));
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank from = around(in.rank, -step, in.ranks());
        schedule.send(in.send.block(), around(in.rank, step, in.ranks()));
        schedule.recv(in.recv.block(from), from);
    }
}

// Allgather all at once: every rank sends its block to every other, without waiting for anything,
// and lets the transport order the messages. Any number of ranks.
extern const Algorithm allgather_linear = {
    .name = "linear",
    .source = hoefler_2007,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = linear,
};

}  // namespace weft::algorithm
