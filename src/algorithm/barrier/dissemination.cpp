// Barrier by dissemination with k ports: in round j every rank sends an empty message to the ranks
// that are 1 to k times (k + 1)^j ahead, once the messages of the round before have come. After
// ceil(log_(k+1) ranks) rounds every rank has heard, directly or indirectly, from every other. Any
// number of ranks.
#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const Region nothing;
    OpId heard = schedule.start();  // the messages of all earlier rounds have come
    const std::int64_t radix = in.agreed.tuning.radix();
    for (std::int64_t weight = 1; weight < in.ranks(); weight *= radix) {
        OpId arrived = heard;
        for (std::int64_t i = 1; i <= multiples_below(in.ranks(), weight, radix); ++i) {
            const auto distance = static_cast<Rank>(i * weight);
            schedule.send(nothing, around(in.rank, distance, in.ranks()), {heard});
            const OpId came = schedule.recv(nothing, around(in.rank, -distance, in.ranks()));
            arrived = arrived == no_op ? came : schedule.join({arrived, came});
        }
        heard = arrived;
    }
    return ok;
}

std::int64_t sent_messages(const Agreed& a) { return multiples_below(a.ranks, a.tuning.radix()); }

}  // namespace

extern const Algorithm barrier_dissemination = {
    .name = "dissemination",
    .source =
        "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988, "
        "doi:10.1007/BF01379320",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log(a.tuning.radix(), a.ranks); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed&) -> std::int64_t { return 0; },
    .build = build,
};

}  // namespace weft::algorithm
