#include "bench/predict/emulated.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "tools/weft/amounts.h"

namespace weft::bench {
namespace {

// An Ethernet frame of TCP over IPv4 with time stamps. Token buckets count its headers, also of packets that are cut
// later, but no preamble.
constexpr double frame_bytes = 1514;
constexpr double payload_bytes = 1448;

constexpr double bucket_bytes = 128 * 1024;  // as tools/weft/cluster.cpp asks tc for

}  // namespace

std::int64_t link_byte_ps(const std::string& rate) {
    const double bits = bits_per_second(rate);
    return bits == 0 ? 0 : std::llround(8e12 / bits * frame_bytes / payload_bytes);
}

std::int64_t link_burst_bytes() {
    return static_cast<std::int64_t>(bucket_bytes * payload_bytes / frame_bytes);
}

std::int64_t link_rest_ns(const std::string& rate) {
    const double bits = bits_per_second(rate);
    // A fourth more, for what still was on its way.
    return bits == 0 ? 0 : std::llround(1.25 * bucket_bytes * 8e9 / bits);
}

Status check_emulated(const Cell& place) {
    if (place.nodes == 0) return ok;
    if (place.link.links != 1)
        return failure(WEFT_REFUSED_ARGUMENT, "links = %d; expected 1: a simulated node has one",
                       place.link.links);
    if (place.ranks % place.nodes != 0)
        return failure(WEFT_REFUSED_ARGUMENT,
                       "%d ranks on %d nodes; expected as many ranks on each node", place.ranks,
                       place.nodes);
    return ok;
}

std::optional<Rank> shared_cores(std::span<const int> core_of) {
    if (std::ranges::count(core_of, -1) > 0) return 0;
    const std::size_t cores = std::set<int>(core_of.begin(), core_of.end()).size();
    if (cores == core_of.size()) return 0;
    for (std::size_t r = cores; r < core_of.size(); ++r) {
        if (core_of[r] != core_of[r % cores]) return std::nullopt;
    }
    return static_cast<Rank>(cores);
}

std::optional<simulate::NodesParameters> emulated(const Cell& place, Rank cores) {
    if (place.nodes == 0) return std::nullopt;
    simulate::NodesParameters nodes;
    nodes.nodes = place.nodes;
    nodes.ranks_per_node = place.ranks / place.nodes;
    nodes.link_byte_ps = link_byte_ps(place.link.rate);
    nodes.burst_bytes = link_burst_bytes();
    nodes.cores = cores;
    return nodes;
}

std::int64_t switch_ps(const model::MeasuredParameters& shared,
                       const model::MeasuredParameters& own) {
    const auto message_ps = [](const model::MeasuredParameters& of) {
        const model::LogGpParameters& small = of.messages.front().parameters;
        return small.latency_ps + 2 * small.overhead_ps;
    };
    return std::max<std::int64_t>(message_ps(shared) - message_ps(own), 0);
}

}  // namespace weft::bench
