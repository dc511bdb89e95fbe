#include "select/by_model.h"

#include <utility>

#include "model/closed_form.h"

namespace weft {
namespace {

using algorithm::Algorithm;
using algorithm::GlobalArgs;
using algorithm::Tunes;

constexpr std::int64_t segment_bytes_min = 4096;
constexpr std::int64_t segment_bytes_max = 1 << 20;
constexpr std::int64_t segment_bytes_step = 4;  // times the one before

}  // namespace

std::optional<Choice> ModelSelection::choose(const GlobalArgs& agreed) const {
    if (!agreed.topology || agreed.topology->nodes() < 2) return std::nullopt;
    std::optional<Choice> best;
    std::pair<std::int64_t, std::int64_t> least;  // by the goal first
    GlobalArgs tuned = agreed;
    const auto consider = [&](const Algorithm& candidate) {
        const auto time = model::closed_form(candidate, tuned, parameters);
        if (!time) return;
        std::pair cost{time->time_ps, time->cpu_ps};
        if (goal == ModelGoal::cpu_time) std::swap(cost.first, cost.second);
        if (best && least <= cost) return;
        best = Choice{&candidate, tuned.tuning};
        least = cost;
    };
    for (const Algorithm* const candidate : algorithm::spec_of(agreed.collective).algorithms) {
        tuned.tuning = agreed.tuning;
        if (candidate->follows_topology || !candidate->unmet_need(tuned).empty()) continue;
        consider(*candidate);
        if (candidate->tunes != Tunes::segments) continue;
        for (std::int64_t bytes = segment_bytes_min; bytes <= segment_bytes_max;
             bytes *= segment_bytes_step) {
            tuned.tuning.segment_bytes = bytes;
            consider(*candidate);
        }
    }
    return best;
}

}  // namespace weft
