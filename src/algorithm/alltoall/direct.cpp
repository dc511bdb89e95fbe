// Alltoalls that send every block straight to its destination: in steps, among pairs, or all at
// once.
#include <vector>

#include "algorithm/algorithm.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

// The blocks that a rank sends in an alltoall. In place, blocks for others are first copied to
// scratch: arriving ones must not overwrite them.
class Outgoing {
  public:
    Outgoing(const Problem& in, ScheduleBuilder& schedule) : from_(in.send) {
        if (!in.in_place) {
            schedule.copy(in.send.block(in.rank), in.recv.block(in.rank));
            return;
        }
        std::int64_t bytes = 0;
        for (Rank r = 0; r < in.ranks(); ++r) bytes += in.send.block(r).bytes;
        const Region room = schedule.scratch(bytes);
        saved_.assign(static_cast<std::size_t>(in.ranks()), {});
        std::int64_t at = 0;
        for (Rank r = 0; r < in.ranks(); ++r) {
            if (r == in.rank) continue;
            Saved& saved = saved_[static_cast<std::size_t>(r)];
            saved.block = room.part(at, in.send.block(r).bytes);
            saved.copied = schedule.copy(in.send.block(r), saved.block);
            at += saved.block.bytes;
        }
    }

    Region block(Rank to) const {
        return saved_.empty() ? from_.block(to) : saved_[static_cast<std::size_t>(to)].block;
    }

    // The block for rank `r` can be sent, and the block from rank `r` may be received in its place.
    OpId ready(Rank r) const {
        return saved_.empty() ? no_op : saved_[static_cast<std::size_t>(r)].copied;
    }

  private:
    struct Saved {
        Region block;
        OpId copied = no_op;
    };
    Layout from_;
    std::vector<Saved> saved_;  // by rank
};

}  // namespace

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
