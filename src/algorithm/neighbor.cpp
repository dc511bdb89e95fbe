// Any neighborhood collective, all at once: every rank posts all messages and lets the transport
// order them. Any topology. An edge from a rank to itself is a copy.
#include "algorithm/algorithm.h"

namespace weft::algorithm {
namespace {

// The block that this rank sends to its neighbor of that number: its own, or the same for all.
Region outgoing(const Problem& in, std::size_t neighbor) {
    const auto block = static_cast<Rank>(neighbor);
    return in.send.block(block < in.send.count ? block : 0);
}

void build(const Problem& in, ScheduleBuilder& schedule) {
    const Neighborhood& neighbors = *in.neighbors;
    std::vector<Region> to_itself;
    for (std::size_t i = 0; i < neighbors.destinations.size(); ++i) {
        const Rank to = neighbors.destinations[i];
        if (to == in.rank)
            to_itself.push_back(outgoing(in, i));
        else if (to != no_rank)
            schedule.send(outgoing(in, i), to);
    }
    auto from_itself = to_itself.begin();
    for (std::size_t i = 0; i < neighbors.sources.size(); ++i) {
        const std::size_t block = neighbors.received(i);
        const Rank from = neighbors.sources[block];
        const Region into = in.recv.block(static_cast<Rank>(block));
        if (from == in.rank)
            schedule.copy(*from_itself++, into);
        else if (from != no_rank)
            schedule.recv(into, from);
    }
}

}  // namespace

extern const Algorithm neighbor_alltoall_flat = {
    .name = "flat",
    .source =
        "Hoefler, Träff: Sparse Collective Operations for MPI, 2009, "
        "doi:10.1109/IPDPS.2009.5160935",
    .rounds = nullptr,
    .sent_messages_max = nullptr,
    .sent_bytes_max = nullptr,
    .build = build,
};

}  // namespace weft::algorithm
