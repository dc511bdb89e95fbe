// Allgather handled by a card, as in Inozemtsev, Afsahi: Designing an Offloaded Nonblocking MPI_Allgather
// Collective Using CORE-Direct, IEEE CLUSTER 2012, on a cluster like the paper's.
#include <algorithm>

#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"

namespace weft::simulate {
namespace {

constexpr Rank ranks_per_node = 8;
constexpr Rank nodes_of_paper = 16;

constexpr LogGpParameters card_network{.latency_ps = 1'300'000,
                                       .overhead_ps = 300'000,
                                       .gap_ps = 200'000,
                                       .byte_gap_ps = 313,
                                       .byte_copy_ps = 250,
                                       .eager_bytes_max = 16 * 1024};
constexpr LogGpParameters shared_memory{.latency_ps = 200'000,
                                        .overhead_ps = 100'000,
                                        .gap_ps = 0,
                                        .byte_gap_ps = 0,
                                        .byte_overhead_ps = 250,
                                        .byte_copy_ps = 250,
                                        .eager_bytes_max = 16 * 1024};
constexpr std::int64_t trigger_ps = 100'000;
constexpr std::int64_t list_ps = 100'000;
constexpr std::int64_t look_ps = 100'000;
constexpr std::int64_t looks = 32;

struct Layout {
    const char* name;
    const char* algorithm;
    std::uint32_t ports;
    bool is_hierarchical;
};
constexpr Layout layouts[] = {
    {"flat", "standard_exchange", 1, false},
    {"flat", "bruck", 1, false},
    {"flat", "ring", 1, false},
    {"flat", "bruck", 3, false},
    {"hierarchical", "standard_exchange", 1, true},
    {"hierarchical", "bruck", 1, true},
    {"hierarchical", "ring", 1, true},
    {"hierarchical", "standard_exchange", 3, true},
    {"hierarchical", "bruck", 3, true},
};

SimulatedCall call_in(const Layout& layout, const NodesParameters& nodes, const Topology& topology,
                      std::int64_t bytes) {
    SimulatedCall call =
        call_of("allgather", layout.is_hierarchical ? "hierarchical" : layout.algorithm,
                nodes.ranks(), bytes);
    call.agreed.topology = &topology;
    call.agreed.tuning.ports = layout.ports;
    if (layout.is_hierarchical) call.agreed.tuning.inner = call.spec->find(layout.algorithm);
    call.parameters = card_network;
    call.nodes = &nodes;
    return call;
}

}  // namespace

ExperimentResult run_core_direct(const ExperimentSize& size) {
    ExperimentResult result{"core-direct"};
    result.assumptions = {
        "published: 8 ranks a node, rendezvous above 16 KiB, clear to send by the card, unasked",
        "assumed, network and host: L 1.3 us, o 0.3 us, g 0.2 us, G 0.313 ns (3.2 GB/s), of "
        "interfaces "
        "and of a node's link; copies 0.25 ns a byte",
        "assumed, card: 0.1 us to handle a message, instead of o; of flat algorithms also within a "
        "node, "
        "with the network's parameters",
        "assumed, shared memory: L 0.2 us, o 0.1 us, and 0.25 ns a byte at each end, by the host: "
        "of "
        "hierarchical algorithms, and of all that hosts handle",
        "the host looks 32 times while it computes, for 0.1 us; it computes for as long as the "
        "collective takes alone with the card",
        "of the optimum: of a bound for all algorithms; the optimum may be later",
        "assumed, connections: the host takes 0.1 us to give the card the list of what it sends to "
        "a "
        "peer, or receives; k messages share one link",
    };
    const Rank number = std::min(
        nodes_of_paper, size.ranks_max.value_or(nodes_of_paper * ranks_per_node) / ranks_per_node);
    if (number < 1) return result;
    const NodesParameters nodes{number,
                                ranks_per_node,
                                card_network.byte_gap_ps,
                                /*burst_bytes=*/0,
                                shared_memory,
                                /*cores=*/0};
    NodesParameters over_card = nodes;
    over_card.inside = card_network;
    over_card.has_card_inside = true;
    const Topology topology = nodes.topology();
    const std::vector<std::int64_t> all_bytes =
        size.bytes.empty() ? std::vector<std::int64_t>{64, 1024, 16384, 65536} : size.bytes;
    ExperimentTable times{"times",
                          {"nodes", "layout", "algorithm", "k", "bytes", "host_us",
                           "host_of_the_optimum_percent", "card_us", "card_of_the_optimum_percent",
                           "together_us", "overlap_percent", "host_overlap_percent"}};
    for (const Layout& layout : layouts) {
        for (const std::int64_t bytes : all_bytes) {
            SimulatedCall call = call_in(layout, nodes, topology, bytes);
            if (!call.algorithm->unmet_need(call.agreed).empty()) continue;
            if (layout.is_hierarchical) {
                algorithm::GlobalArgs leaders = call.agreed;
                leaders.ranks = number;
                if (!call.agreed.tuning.inner->unmet_need(leaders).empty()) continue;
            }
            const std::int64_t host_ps = time_of(call);
            const std::int64_t host_bound_ps = bound_of(call);
            Progress host;
            host.look_ps = look_ps;
            const Overlap by_host = overlap_of(call, host, host_ps, looks);
            Progress card = host;
            card.by = Progress::By::offload;
            card.trigger_ps = trigger_ps;
            card.list_ps = list_ps;
            call.progress = card;
            if (!layout.is_hierarchical) call.nodes = &over_card;
            const std::int64_t card_ps = time_of(call);
            const std::int64_t card_bound_ps = bound_of(call);
            const Overlap by_card = overlap_of(call, card, card_ps, looks);
            times.rows.push_back(
                {number, layout.name, layout.algorithm, static_cast<std::int64_t>(layout.ports),
                 bytes, Cell::microseconds(host_ps), Cell::percent(host_bound_ps, host_ps),
                 Cell::microseconds(card_ps), Cell::percent(card_bound_ps, card_ps),
                 Cell::microseconds(by_card.together_ps), Cell::percent(by_card.share()),
                 Cell::percent(by_host.share())});
        }
    }
    result.tables = {std::move(times)};
    return result;
}

}  // namespace weft::simulate
