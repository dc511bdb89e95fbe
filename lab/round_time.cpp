#include "lab/round_time.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "lab/measure.h"
#include "model/loggp.h"
#include "schedule/repeats.h"

namespace weft {
namespace {

using model::after_first;

struct Round {
    std::int64_t bytes_max = 0;
    std::int64_t hops_max = 0;
    bool reduces = false;
    std::vector<std::int64_t> link_bytes;  // by link
};

}  // namespace

Result<std::int64_t> time_by_rounds_ps(std::span<const Schedule> schedules, const Torus& torus,
                                       const RoundCosts& costs) {
    Result<Timetable> times = timetable(schedules);
    if (!times.is_ok()) return times.status();
    const std::size_t dimensions = torus.sizes().size();
    // Reductions after the last round have one of their own.
    std::vector<Round> rounds(static_cast<std::size_t>(times->rounds) + 1);
    for (const Schedule& schedule : schedules) {
        std::map<Rank, std::size_t> sent;  // so far, by receiver
        for (const Step& step : unroll(schedule)) {
            if (step.id == no_op || step.what.kind != OpKind::send) continue;
            const Rank to = step.what.peer;
            const std::int64_t unit = times->messages[{schedule.rank(), to}][sent[to]++];
            Round& round = rounds[static_cast<std::size_t>(unit)];
            round.link_bytes.resize(static_cast<std::size_t>(torus.ranks()) * dimensions);
            round.bytes_max = std::max(round.bytes_max, step.what.bytes);
            std::int64_t hops = 0;
            torus.for_each_link(schedule.rank(), to, [&](Rank node, std::size_t d) {
                ++hops;
                round.link_bytes[static_cast<std::size_t>(node) * dimensions + d] +=
                    after_first(step.what.bytes);
            });
            round.hops_max = std::max(round.hops_max, hops);
        }
    }
    // What is combined after so many rounds came in the last of them.
    for (const std::set<std::int64_t>& units : times->reductions) {
        for (const std::int64_t unit : units)
            rounds[static_cast<std::size_t>(std::max<std::int64_t>(unit - 1, 0))].reduces = true;
    }
    std::int64_t time_ps = 0;
    for (const Round& round : rounds) {
        if (round.link_bytes.empty()) continue;
        const std::int64_t bytes = after_first(round.bytes_max);
        time_ps += costs.message_ps + bytes * costs.cpu_byte_ps + round.hops_max * costs.hop_ps +
                   std::max(bytes * costs.interface_byte_ps,
                            std::ranges::max(round.link_bytes) * costs.link_byte_ps);
        if (round.bytes_max > costs.eager_bytes_max) time_ps += costs.asking_ps;
        if (round.reduces) time_ps += round.bytes_max * costs.reduction_byte_ps;
    }
    return time_ps;
}

}  // namespace weft
