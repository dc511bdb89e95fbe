// Barrier by dissemination: in round k every rank sends to the rank 2^k ahead. Any number of ranks.
#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region nothing;
    OpId heard = schedule.start();  // the messages of all earlier rounds have come
    OpId arrived = schedule.start();
    for (int k = 0; k < ceil_log2(in.ranks()); ++k) {
        // A round's message does not imply that those of earlier rounds have come.
        if (k > 0) heard = k == 1 ? arrived : schedule.join({heard, arrived});
        Neighbours peers = dissemination_peers(in.rank, in.ranks(), k);
        schedule.send(nothing, peers.to, {heard});
        arrived = schedule.recv(nothing, peers.from);
    }
    return ok;
}

}  // namespace

extern const Algorithm barrier_dissemination = {
    .name = "dissemination",
    .source =
        "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988, "
        "doi:10.1007/BF01379320",
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_messages_max = [](const Agreed& a) -> std::int64_t { return ceil_log2(a.ranks); },
    .sent_bytes_max = [](const Agreed&) -> std::int64_t { return 0; },
    .build = build,
};

}  // namespace weft::algorithm
