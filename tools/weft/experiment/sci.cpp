// Gather and alltoall on tori of SCI links, as in Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and
// Analysis of Nonblocking Collective Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892.
#include <algorithm>
#include <numeric>

#include "lab/measure.h"
#include "shape/topology.h"
#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"

namespace weft::simulate {
namespace {

constexpr std::int64_t fast_link_byte_ps = 1'923;  // 520 MB/s
constexpr std::int64_t look_ps = 100'000;
constexpr std::int64_t wake_ps = 5'000'000;
constexpr std::int64_t bytes_between_looks = 2048;

// Messages within a node: shared memory.
constexpr LogGpParameters inside{.latency_ps = 300'000,
                                 .overhead_ps = 200'000,
                                 .gap_ps = 0,
                                 .byte_gap_ps = 1'000,
                                 .byte_overhead_ps = 1'000};

struct Named {
    const char* collective;
    const char* algorithm;
};
constexpr Named calls[] = {
    {"gather", "flat"},     {"gather", "sequential"}, {"gather", "binary"},
    {"gather", "binomial"}, {"gather", "torus"},      {"gather", "hierarchical"},
    {"alltoall", "flat"},   {"alltoall", "pairwise"}, {"alltoall", "bruck"},
    {"alltoall", "shift"},  {"alltoall", "torus"},    {"alltoall", "hierarchical"},
};

std::string text_of(const std::vector<Rank>& sizes) {
    std::string text;
    for (const Rank size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

// A torus of nodes with one or two ranks.
struct Place {
    explicit Place(const std::vector<Rank>& sizes, Rank ranks_per_node)
        : torus(sizes),
          nodes{.nodes = torus.ranks(), .ranks_per_node = ranks_per_node, .inside = inside},
          topology(nodes.topology()) {}
    bool has_single_ranks() const { return nodes.ranks_per_node == 1; }

    Torus torus;
    NodesParameters nodes;
    Topology topology;
};

SimulatedCall at(const Place& place, const Named& named, std::int64_t bytes) {
    SimulatedCall call = call_of(named.collective, named.algorithm, place.nodes.ranks(), bytes);
    if (place.has_single_ranks()) {
        call.agreed.torus = &place.torus;
    } else {
        call.agreed.topology = &place.topology;
        call.nodes = &place.nodes;
    }
    return call;
}

// By step, the most messages on a link.
std::vector<std::int64_t> loads_of(const SimulatedCall& call, const Place& place) {
    Result<Timetable> times = timetable(schedules_of(call));
    WEFT_ASSERT(times.is_ok());
    std::vector<LinkLoads> steps(static_cast<std::size_t>(times->rounds), LinkLoads(place.torus));
    for (const auto& [ends, units] : times->messages) {
        const Rank from = ends.first / place.nodes.ranks_per_node;
        const Rank to = ends.second / place.nodes.ranks_per_node;
        for (const std::int64_t unit : units) steps[static_cast<std::size_t>(unit)].add(from, to);
    }
    std::vector<std::int64_t> loads;
    for (const LinkLoads& step : steps) loads.push_back(step.most());
    return loads;
}

void add_contention(const SimulatedCall& call, const Place& place, ExperimentTable& table) {
    const std::vector<std::int64_t> loads = loads_of(call, place);
    table.rows.push_back({text_of(place.torus.sizes()), place.nodes.ranks_per_node, call.spec->name,
                          call.algorithm->name, static_cast<std::int64_t>(loads.size()),
                          std::accumulate(loads.begin(), loads.end(), std::int64_t{0}),
                          loads.empty() ? 0 : std::ranges::max(loads), loads});
}

// A line for each way of progress.
void add_times(SimulatedCall call, const NetworkProfile& profile, const Place& place,
               ExperimentTable& table) {
    call.parameters = profile.parameters;
    call.ends = profile.ends;
    TorusParameters links{place.torus, fast_link_byte_ps, profile.hop_ps};
    NodesParameters nodes = place.nodes;
    nodes.link_byte_ps = profile.parameters.byte_gap_ps;
    if (call.nodes) call.nodes = &nodes;
    if (!profile.is_switched) call.torus = &links;
    const std::int64_t fast_ps = time_of(call);
    links.link_byte_ps = profile.parameters.byte_gap_ps;
    const std::int64_t alone_ps = time_of(call);
    const std::int64_t bound_ps = bound_of(call);
    Cell by_rounds = Cell::nothing();
    if (place.has_single_ranks() && call.torus) {
        const Result<std::int64_t> time_ps = time_by_rounds_ps(
            schedules_of(call), place.torus, round_costs(call.parameters, call.ends, links));
        WEFT_ASSERT(time_ps.is_ok());
        by_rounds = Cell::microseconds(*time_ps);
    }
    Progress manual;
    manual.look_ps = look_ps;
    Progress thread;
    thread.by = Progress::By::thread;
    thread.wake_ps = wake_ps;
    const std::int64_t looks = std::max<std::int64_t>(call.agreed.bytes / bytes_between_looks, 1);
    for (const auto& [name, progress] :
         {std::pair{"manual", manual}, std::pair{"thread", thread}}) {
        const Overlap overlap = overlap_of(call, progress, alone_ps, looks);
        table.rows.push_back(
            {text_of(place.torus.sizes()), place.nodes.ranks_per_node, call.spec->name,
             call.algorithm->name, call.agreed.bytes, profile.name, name,
             Cell::microseconds(alone_ps), Cell::microseconds(bound_ps),
             Cell::percent(bound_ps, alone_ps), by_rounds, Cell::microseconds(fast_ps),
             Cell::microseconds(overlap.together_ps), Cell::percent(overlap.share())});
    }
}

}  // namespace

ExperimentResult run_sci(const ExperimentSize& size) {
    ExperimentResult result{"sci"};
    for (const NetworkProfile& profile : profiles()) {
        for (const char* source : profile.sources)
            result.assumptions.push_back(std::string(profile.name) + ", " + source);
    }
    result.assumptions.insert(
        result.assumptions.end(),
        {"links take a byte in the time of an interface, or 520 MB/s (fast_links_us)",
         "infiniband: the same ranks at a switch instead of a torus",
         "manual: the host looks every 2048 bytes of a block, for 0.1 us (assumed); thread: it has "
         "a core "
         "of its own and takes 5 us to wake (assumed)",
         "two ranks of a node share its interface; messages within a node: L 0.3 us, o 0.2 us, O "
         "and "
         "G 1 ns a byte (assumed)",
         "each rank computes for as long as the collective takes alone (alone_us)",
         "bound_us: no algorithm takes less; the optimum may take more (of alone_us)",
         "by_rounds_us: rounds one after another, each of the time of a message whose bytes wait "
         "for the fullest "
         "link",
         "contention: messages on the fullest link, by step, if every message takes one"});
    ExperimentTable contention{
        "contention",
        {"torus", "ranks_per_node", "collective", "algorithm", "steps", "sum", "most", "by_step"}};
    ExperimentTable times{"times",
                          {"torus", "ranks_per_node", "collective", "algorithm", "bytes",
                           "transfer", "progress", "alone_us", "bound_us", "of_the_optimum_percent",
                           "by_rounds_us", "fast_links_us", "together_us", "overlap_percent"}};
    const std::vector<std::int64_t> all_bytes =
        size.bytes.empty() ? std::vector<std::int64_t>{64, 4096, 65536} : size.bytes;
    for (const std::vector<Rank>& sizes :
         {std::vector<Rank>{4, 4}, std::vector<Rank>{8, 8}, std::vector<Rank>{4, 4, 4}}) {
        for (const Rank ranks_per_node : {1, 2}) {
            const Place place(sizes, ranks_per_node);
            if (place.nodes.ranks() > size.ranks_max.value_or(place.nodes.ranks())) continue;
            for (const Named& named : calls) {
                const SimulatedCall smallest = at(place, named, 1);
                const algorithm::Algorithm& algorithm = *smallest.algorithm;
                if (place.has_single_ranks() ? algorithm.follows_topology : algorithm.needs.torus)
                    continue;
                add_contention(smallest, place, contention);
                for (const std::int64_t bytes : all_bytes) {
                    for (const NetworkProfile& profile : profiles())
                        add_times(at(place, named, bytes), profile, place, times);
                }
            }
        }
    }
    result.tables = {std::move(contention), std::move(times)};
    return result;
}

}  // namespace weft::simulate
