// Scatters from the root: straight to every rank, or along trees.
#include "algorithm/trees.h"
#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {

static void flat(const Problem& in, ScheduleBuilder& schedule) {
    if (!in.is_root()) {
        schedule.recv(in.recv.block(), in.root());
        return;
    }
    schedule.expect(static_cast<std::size_t>(in.ranks()));
    for (Rank i = 1; i < in.ranks(); ++i) {
        const Rank to = around(in.root(), i, in.ranks());
        schedule.send(in.send.block(to), to);
    }
    if (!in.in_place) schedule.copy(in.send.block(in.rank), in.recv.block());
}

// Scatter straight from the root: it sends every rank its block, all at once. Every block is sent
// once, but the root sends all messages. Any number of ranks, any root.
extern const Algorithm scatter_flat = {
    .name = "flat",
    .source =
        "Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, "
        "and experience, 2007, doi:10.1002/cpe.1206",
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return a.ranks - 1; },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = flat,
};

static void binomial(const Problem& in, ScheduleBuilder& schedule) {
    scatter_along(binomial_tree(in.rank, in.ranks(), in.root()), in, schedule);
}

// Scatter along a binomial tree: every rank gets the blocks of its subtree in one message and sends
// its children theirs. The root sends only ceil(log2 ranks) messages, but blocks are sent several
// times: for small blocks. Any number of ranks, any root.
extern const Algorithm scatter_binomial = {
    .name = "binomial",
    .source = thakur_2005,
    .rounds = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const GlobalArgs& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = binomial,
};

static void knomial(const Problem& in, ScheduleBuilder& schedule) {
    scatter_along(knomial_tree(in.rank, in.ranks(), in.root(), in.agreed.tuning.radix()), in,
                  schedule);
}

// Scatter along a tree in which a rank sends to k children at a time, with k ports: every rank gets
// the blocks of its subtree in one message. Any number of ranks, any root.
extern const Algorithm scatter_knomial = {
    .name = "knomial",
    .source = wilkins_2023,
    .tunes = Tunes::ports,
    .rounds = [](const GlobalArgs& a) -> std::int64_t {
        return ceil_log(a.tuning.radix(), a.ranks);
    },
    .sent_messages_max =
        [](const GlobalArgs& a) { return multiples_below(a.ranks, a.tuning.radix()); },
    .sent_bytes_max = [](const GlobalArgs& a) { return a.bytes * (a.ranks - 1); },
    .build = knomial,
};

}  // namespace weft::algorithm
