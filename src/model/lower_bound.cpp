#include "model/lower_bound.h"

#include <algorithm>
#include <map>

#include "algorithm/catalogue.h"

namespace weft::model {
namespace {

using algorithm::Agreed;
using algorithm::Blocks;
using algorithm::Family;

// At least so many bytes go through one side of some rank's interface.
std::int64_t bytes_of_busiest(const Family& family, const Agreed& agreed) {
    const std::int64_t all = times(agreed.ranks - 1, agreed.bytes);
    if (agreed.collective == Collective::allreduce) return 2 * (all / agreed.ranks);
    const bool has_all = family.send.root == Blocks::all || family.recv.root == Blocks::all;
    return has_all ? all : agreed.bytes;
}

// At least so many bytes are combined by some rank.
std::int64_t combined_by_busiest(const Family& family, const Agreed& agreed) {
    if (!family.reduces) return 0;
    if (family.send.root == Blocks::all)  // one for each rank
        return times(agreed.ranks - 1, agreed.bytes);
    const Rank operands = agreed.collective == Collective::exscan ? 2 : 1;
    return times(agreed.ranks - operands, agreed.bytes) / agreed.ranks;
}

}  // namespace

std::int64_t least_time_to_all(const LogGpParameters& p, Rank ranks) {
    const std::int64_t again_ps = std::max(p.overhead_ps, p.gap_ps);
    const std::int64_t way_ps = 2 * p.overhead_ps + p.latency_ps;
    // When ranks that know the item have told it to the next one, and how many they are then.
    std::map<std::int64_t, std::int64_t> told{{way_ps, 1}};
    std::int64_t now_ps = 0;
    for (std::int64_t informed = 1; informed < ranks;) {
        const auto [time_ps, by] = *told.begin();
        told.erase(told.begin());
        now_ps = time_ps;
        informed += by;
        told[plus(now_ps, again_ps)] += by;
        told[plus(now_ps, way_ps)] += by;
    }
    return now_ps;
}

std::optional<std::int64_t> lower_bound(const Agreed& agreed, const LogGpParameters& p) {
    const Family& family = algorithm::family_of(agreed.collective);
    if (family.sizes != algorithm::Sizes::alike || family.is_among_neighbors()) return std::nullopt;
    if (agreed.ranks == 1 || (family.has_data() && agreed.bytes == 0)) return 0;
    const std::int64_t items_ps = least_time_to_all(p, agreed.ranks);
    if (!family.has_data()) return items_ps;
    // A further message takes g, a further byte G: no byte takes less than the smaller one.
    const std::int64_t byte_ps = std::min(p.gap_ps, p.byte_gap_ps);
    const std::int64_t further_bytes =
        std::max<std::int64_t>(bytes_of_busiest(family, agreed) - 1, 0);
    const std::int64_t bytes_ps =
        plus(2 * p.overhead_ps + p.latency_ps, times(further_bytes, byte_ps));
    const std::int64_t combining_ps =
        times(combined_by_busiest(family, agreed), p.byte_reduction_ps);
    return std::max({items_ps, bytes_ps, combining_ps});
}

}  // namespace weft::model
