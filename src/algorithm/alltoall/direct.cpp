// Alltoalls that send every block straight to its destination: in steps, among pairs, or all at
// once.
#include "algorithm/algorithm.h"
#include "algorithm/alltoall/outgoing.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void shift(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(3 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    OpId stepped = schedule.start();
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        const Rank from = around(in.rank, -step, in.ranks());
        const OpId sent = schedule.send(outgoing.block(to), to, {outgoing.ready(to), stepped});
        const OpId arrived = schedule.recv(in.recv.block(from), from, {outgoing.ready(from)});
        if (step + 1 < in.ranks()) stepped = schedule.join({sent, arrived});
    }
}

// Alltoall in steps: in step i a rank sends to the rank i ahead and receives from the rank i
// behind, one message at a time each way. Any number of ranks.
extern const Algorithm alltoall_shift = {
    .name = "shift",
    .source = thakur_2005,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = shift,
};

static void pairwise(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    OpId sent = schedule.start();
    OpId arrived = schedule.start();
    for (Rank step = 0; step < pairing_steps(in.ranks()); ++step) {
        const std::optional<Rank> partner = partner_in_step(in.rank, in.ranks(), step);
        if (!partner) continue;
        const OpId ready = outgoing.ready(*partner);
        sent = schedule.send(outgoing.block(*partner), *partner, {ready, sent, arrived});
        arrived = schedule.recv(in.recv.block(*partner), *partner, {ready});
    }
}

// Alltoall by exchange: in each step ranks form pairs, and both of a pair send each other a block.
// A rank has one partner at a time, so messages do not compete for a receiver. Any number of ranks;
// if it is odd, one rank is idle in each step.
extern const Algorithm alltoall_pairwise = {
    .name = "pairwise",
    .source = kaiser_2009_alltoall,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return pairing_steps(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = pairwise,
};

static void flat(const Problem& in, ScheduleBuilder& schedule) {
    schedule.expect(2 * static_cast<std::size_t>(in.ranks()));
    const Outgoing outgoing(in, schedule);
    for (Rank step = 1; step < in.ranks(); ++step) {
        const Rank to = around(in.rank, step, in.ranks());
        const Rank from = around(in.rank, -step, in.ranks());
        schedule.send(outgoing.block(to), to, {outgoing.ready(to)});
        schedule.recv(in.recv.block(from), from, {outgoing.ready(from)});
    }
}

// Alltoall all at once: every rank posts all messages and lets the transport order them. Nothing
// waits for anything else. Any number of ranks.
extern const Algorithm alltoall_flat = {
    .name = "flat",
    .source = kaiser_2009_alltoall,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = flat,
};

}  // namespace weft::algorithm
