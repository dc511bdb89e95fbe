// Lower bounds against the LogGP machine, in every kind of surroundings.
#include "algorithm/catalogue.h"
#include "shape/topology.h"
#include "sim/lower_bound.h"
#include "sim/profile.h"
#include "support/loggp.h"
#include "support/test.h"

namespace weft::simulate::bound_test {

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;

constexpr std::int64_t any_bytes = 1 << 30;
constexpr LogGpParameters plain{2'500'000, 1'500'000, 1'000'000, 6'000, 0, 31, 0, any_bytes};
constexpr LogGpParameters slow_cpu{1'000'000, 300'000, 200'000, 1'000, 4'000, 0, 0, any_bytes};
constexpr LogGpParameters slow_interface{50'000, 1'000, 7'000'000, 2'000, 0, 0, 0, any_bytes};
constexpr LogGpParameters bytes_alone{0, 0, 0, 2'000, 0, 0, 0, any_bytes};
constexpr LogGpParameters gaps{0, 0, 1'000'000, 2'000, 0, 0, 0, any_bytes};
constexpr LogGpParameters asking{2'500'000, 100'000, 100'000, 6'000, 0, 31, 0, 100};
constexpr LogGpParameters shared_memory{200'000, 100'000, 0, 100, 250, 0, 0, any_bytes};

struct Place {
    std::string name;
    LogGpParameters parameters;
    MessageEnds ends = {};
    Progress progress = {};
    std::optional<TorusParameters> torus = {};
    std::optional<NodesParameters> nodes = {};
    Rank ranks = 8;

    Surroundings surroundings() const {
        return {parameters, ends, progress, torus ? &*torus : nullptr, nodes ? &*nodes : nullptr};
    }
};

std::int64_t simulated(const CollectiveSpec& spec, const Algorithm& algorithm,
                       const GlobalArgs& agreed, const Place& place) {
    const Surroundings in = place.surroundings();
    LogGpMachine machine(in.parameters, {}, in.torus);
    if (in.nodes) machine.set_nodes(*in.nodes);
    machine.set_ends(in.ends);
    machine.set_progress(in.progress);
    for (Rank r = 0; r < agreed.ranks; ++r) {
        const Result<Schedule> schedule =
            build_rank(algorithm, spec.problem(agreed, r, spec.has_in_place()));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    return std::ranges::max(test::outcome_of(machine).end_ps);
}

// How many algorithms were tried. The largest share of the optimum that one of them has.
struct Tried {
    int algorithms = 0;
    double best = 0;
};

Tried expect_never_beaten(const Place& place, const std::vector<std::int64_t>& all_bytes) {
    Tried tried;
    const Topology topology = place.nodes.value_or(NodesParameters{}).topology();
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        if (spec.sizes != algorithm::Sizes::uniform || spec.is_among_neighbors()) continue;
        for (const Algorithm* const known : spec.algorithms) {
            for (const std::int64_t bytes : all_bytes) {
                GlobalArgs agreed;
                agreed.collective = spec.collective;
                agreed.ranks = place.ranks;
                agreed.bytes = spec.has_data() ? bytes : 0;
                agreed.tuning.segment_bytes = 64;
                agreed.topology = place.nodes ? &topology : nullptr;
                agreed.torus = place.torus && !place.nodes ? &place.torus->torus : nullptr;
                if (!known->unmet_need(agreed).empty()) continue;
                const auto bound = lower_bound(agreed, place.surroundings());
                EXPECT_TRUE(bound.has_value());
                const std::int64_t end = simulated(spec, *known, agreed, place);
                EXPECT_LE(*bound, end) << place.name << ", " << spec.name << " " << known->name
                                       << ", " << bytes << " bytes";
                if (end > 0)
                    tried.best = std::max(tried.best,
                                          static_cast<double>(*bound) / static_cast<double>(end));
                ++tried.algorithms;
            }
        }
    }
    return tried;
}

TEST(BoundInSurroundings, IsNeverBeaten) {
    Progress card;
    card.by = Progress::By::offload;
    card.trigger_ps = 100'000;
    Progress beside;
    beside.compute_ps = 20'000'000;
    beside.poll_ps = 1'000'000;
    Progress thread = beside;
    thread.by = Progress::By::thread;
    thread.wake_ps = 10'000;
    MessageEnds ends;
    ends.recv_overhead_ps = 50'000;
    ends.recv_byte_overhead_ps = 300;
    MessageEnds stores = ends;
    stores.cpu_sends = true;
    for (const LogGpParameters& p :
         {plain, slow_cpu, slow_interface, bytes_alone, gaps, asking, shared_memory}) {
        const std::string number = std::to_string(p.overhead_ps) + ":" + std::to_string(p.gap_ps);
        std::vector<Place> places;
        for (const Progress& progress : {Progress{}, card, beside, thread}) {
            for (const MessageEnds& of : {MessageEnds{}, ends, stores}) {
                if (of.cpu_sends && progress.by == Progress::By::offload) continue;
                places.push_back({"flat " + number, p, of, progress});
                places.push_back({"torus " + number, p, of, progress,
                                  TorusParameters{Torus({2, 4}), 5'000, 70'000}});
                NodesParameters nodes{4, 2, 8'000, 0, shared_memory};
                places.push_back({"nodes " + number, p, of, progress, {}, nodes});
                nodes.link_byte_ps = 10;
                nodes.burst_bytes = 500;
                nodes.has_card_inside = true;
                places.push_back({"bursts " + number, p, of, progress, {}, nodes});
                nodes = {8, 1, 8'000, 0, shared_memory};
                places.push_back({"single " + number, p, of, progress, {}, nodes});
                nodes = {1, 8, 8'000, 0, shared_memory};
                places.push_back({"inside " + number, p, of, progress, {}, nodes});
                nodes = {4, 2, 8'000, 0, shared_memory};
                places.push_back({"torus of nodes " + number, p, of, progress,
                                  TorusParameters{Torus({2, 2}), 1'000, 0}, nodes});
            }
        }
        for (const Place& place : places) {
            const Tried tried = expect_never_beaten(place, {0, 1, 100, 3000});
            EXPECT_GT(tried.algorithms, 100) << place.name;
            // Where messages take nothing, every byte may be one.
            if (p.overhead_ps + p.gap_ps > 0) {
                EXPECT_GT(tried.best, 0.4) << place.name;
            }
        }
    }
}

// Of a kind of work, as good as what is simulated.
TEST(BoundInSurroundings, IsNearTheBestAlgorithm) {
    const auto share = [](const char* collective, const char* name, std::int64_t bytes,
                          const Place& place) {
        const CollectiveSpec& spec = *algorithm::find_spec(collective);
        GlobalArgs agreed;
        agreed.collective = spec.collective;
        agreed.ranks = place.ranks;
        agreed.bytes = bytes;
        if (place.torus && !place.nodes) agreed.torus = &place.torus->torus;
        const auto bound_ps = static_cast<double>(*lower_bound(agreed, place.surroundings()));
        return bound_ps / static_cast<double>(simulated(spec, *spec.find(name), agreed, place));
    };
    constexpr std::int64_t large = 1'000'000;
    const Place torus{"torus", plain, {}, {}, TorusParameters{Torus({2, 4}), 6'000, 0}};
    EXPECT_GT(share("allgather", "ring", large, torus), 0.98) << "what enters a node";
    EXPECT_GT(share("alltoall", "pairwise", large, torus), 0.7) << "what crosses its links";
    Place nodes{"nodes", plain, {}, {}, {}, NodesParameters{4, 2, 8'000, 0, shared_memory}};
    EXPECT_GT(share("allgather", "ring", large, nodes), 0.84) << "what enters a node";
    EXPECT_GT(share("alltoall", "pairwise", large, nodes), 0.95);
    nodes.nodes->burst_bytes = 4 * large;
    EXPECT_GT(share("alltoall", "pairwise", large, nodes), 0.6) << "a third passes unshaped";
    Place card{"card", plain};
    card.ranks = 2;
    card.progress.by = Progress::By::offload;
    card.progress.trigger_ps = 100'000;
    EXPECT_EQ(share("barrier", "dissemination", 0, card), 1) << "a way, and both cards";
    card.progress.compute_ps = 100'000'000;
    EXPECT_EQ(share("barrier", "dissemination", 0, card), 1) << "all is hidden";
    // The first bytes are stored by the CPU, the others as they come.
    const NetworkProfile& pio = *find_profile("sci-pio");
    const Place sci{
        "sci", pio.parameters, pio.ends, {}, TorusParameters{Torus({1, 2}), 0, pio.hop_ps}, {}, 2};
    EXPECT_EQ(share("bcast", "binomial", 1, sci), 1);
    EXPECT_GT(share("bcast", "binomial", large, sci), 0.95);
}

}  // namespace weft::simulate::bound_test
