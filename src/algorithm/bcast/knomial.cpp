// Broadcast along a tree in which a rank sends to k children at a time, with k ports. Any number of ranks,
// any root.
//
// In base k + 1, the parent of the rank at distance v from the root is at v without its lowest digit
// that is not 0.
#include "algorithm/algorithm.h"
#include "shape/power.h"
#include "shape/ring.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    const std::int64_t radix = std::int64_t{in.agreed.tuning.ports} + 1;
    const Region data = in.recv.block();
    const std::int64_t distance = around(in.rank, -in.root(), in.ranks());
    auto rank_at = [&](std::int64_t d) {
        return around(in.root(), static_cast<Rank>(d), in.ranks());
    };
    // Of the digit by which this rank differs from its parent; the root has none.
    std::int64_t weight = 1;
    while (weight < in.ranks() && distance / weight % radix == 0) weight *= radix;
    OpId ready = schedule.start();
    if (distance != 0)
        ready = schedule.recv(data, rank_at(distance - distance / weight % radix * weight));
    while ((weight /= radix) >= 1) {
        for (std::int64_t digit = 1; digit < radix; ++digit) {
            const std::int64_t child = distance + digit * weight;
            if (child < in.ranks()) schedule.send(data, rank_at(child), {ready});
        }
    }
    return ok;
}

// By the root.
std::int64_t sent_messages(const Agreed& a) {
    return multiples_below(a.ranks, std::int64_t{a.tuning.ports} + 1);
}

}  // namespace

extern const Algorithm bcast_knomial = {
    .name = "knomial",
    .source =
        "Johnsson, Ho: Optimum Broadcasting and Personalized Communication in Hypercubes, 1989, "
        "doi:10.1109/12.29465",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t {
        return ceil_log(static_cast<Rank>(a.tuning.ports) + 1, a.ranks);
    },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * sent_messages(a); },
    .build = build,
};

}  // namespace weft::algorithm
