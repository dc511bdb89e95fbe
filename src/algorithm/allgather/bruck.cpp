// Allgather in ceil(log_(k+1) ranks) rounds, with k ports: each round multiplies the number of
// blocks that a rank holds by k + 1; the last one may be partial. A rank gets blocks from ranks
// ahead of it and passes them on to ranks behind it. For small blocks and any number of ranks.
#include <algorithm>
#include <vector>

#include "algorithm/algorithm.h"
#include "algorithm/places.h"
#include "shape/power.h"

namespace weft::algorithm {
namespace {

Status build(const Problem& in, ScheduleBuilder& schedule) {
    std::vector<Rank> reach = {1};
    while (reach.back() < in.ranks()) {
        const std::int64_t next = std::int64_t{reach.back()} * in.agreed.tuning.radix();
        reach.push_back(static_cast<Rank>(std::min<std::int64_t>(next, in.ranks())));
    }
    gather_places(in, reach, schedule);
    return ok;
}

std::int64_t sent_messages(const Agreed& a) {
    std::int64_t messages = 0;
    for (std::int64_t reach = 1; reach < a.ranks; reach *= a.tuning.ports + 1) {
        messages += std::min<std::int64_t>(a.tuning.ports, (a.ranks - 1) / reach);
    }
    return messages;
}

}  // namespace

extern const Algorithm allgather_bruck = {
    .name = "bruck",
    .source =
        "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All "
        "Communications in Multiport Message-Passing Systems, 1997, doi:10.1109/71.642949, "
        "section 4 (concatenation)",
    .tunes = Tunes::ports,
    .rounds = [](const Agreed& a) -> std::int64_t { return ceil_log(a.tuning.radix(), a.ranks); },
    .sent_messages_max = sent_messages,
    .sent_bytes_max = [](const Agreed& a) { return a.bytes * (a.ranks - 1); },
    .build = build,
};

}  // namespace weft::algorithm
