#include "sim/shared_links.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::simulate {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// Rates that differ by less are equal, but for rounding.
constexpr double tolerance = 1e-9;

}  // namespace

SharedLinks::SharedLinks(const std::vector<std::int64_t>& byte_ps)
    : left_(byte_ps.size()), unshared_(byte_ps.size()) {
    for (const std::int64_t time : byte_ps)
        capacity_.push_back(time == 0 ? unlimited : 1 / static_cast<double>(time));
}

void SharedLinks::start(std::int64_t now_ps, std::vector<std::uint32_t> links, std::int64_t bytes,
                        std::uint32_t name) {
    advance(now_ps);
    Flow& flow = flows_.emplace_back();
    flow.links = std::move(links);
    flow.left = static_cast<double>(bytes);
    flow.name = name;
    is_shared_ = false;
}

std::vector<std::uint32_t> SharedLinks::ended(std::int64_t now_ps) {
    share();
    advance(now_ps);
    std::vector<std::uint32_t> names;
    std::erase_if(flows_, [&](const Flow& flow) {
        // Times are whole ps.
        const bool has_ended = flow.left <= flow.rate || flow.rate == unlimited;
        if (has_ended) names.push_back(flow.name);
        return has_ended;
    });
    if (!names.empty()) is_shared_ = false;
    return names;
}

std::optional<std::int64_t> SharedLinks::next_end_ps() {
    if (flows_.empty()) return std::nullopt;
    share();
    double soonest = unlimited;
    for (const Flow& flow : flows_) soonest = std::min(soonest, flow.left / flow.rate);
    return now_ps_ + std::llround(std::max(soonest, 0.0));
}

void SharedLinks::advance(std::int64_t now_ps) {
    const auto passed_ps = static_cast<double>(now_ps - now_ps_);
    now_ps_ = now_ps;
    if (passed_ps == 0) return;
    share();
    for (Flow& flow : flows_) flow.left -= flow.rate * passed_ps;
}

// Fills all flows alike until links are full, fixes the flows on these, and goes on with the
// others.
void SharedLinks::share() {
    if (is_shared_) return;
    is_shared_ = true;
    left_ = capacity_;
    std::ranges::fill(unshared_, 0);
    for (Flow& flow : flows_) {
        flow.rate = -1;
        for (const std::uint32_t link : flow.links) ++unshared_[link];
    }
    for (std::size_t fixed = 0; fixed < flows_.size();) {
        double least = unlimited;
        for (std::size_t link = 0; link < left_.size(); ++link) {
            if (unshared_[link] > 0) least = std::min(least, left_[link] / unshared_[link]);
        }
        const double limit = least * (1 + tolerance);
        std::vector<Flow*> full;
        for (Flow& flow : flows_) {
            const auto is_full = [&](std::uint32_t link) {
                return left_[link] / unshared_[link] <= limit;
            };
            if (flow.rate < 0 && (least == unlimited || std::ranges::any_of(flow.links, is_full)))
                full.push_back(&flow);
        }
        for (Flow* const flow : full) {
            flow->rate = least;
            for (const std::uint32_t link : flow->links) {
                left_[link] -= least;
                --unshared_[link];
            }
        }
        fixed += full.size();
    }
}

}  // namespace weft::simulate
