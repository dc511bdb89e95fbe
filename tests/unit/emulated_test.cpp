// The emulated cluster as the simulator knows it: what follows from the options of the cluster and from measured
// parameters.
#include "bench/predict/emulated.h"
#include "schedule/builder.h"
#include "sim/loggp.h"
#include "support/test.h"

namespace weft::bench::emulated_test {

Cell cluster(int ranks, int nodes, int links = 1) {
    Cell place;
    place.ranks = ranks;
    place.nodes = nodes;
    place.link.links = links;
    return place;
}

TEST(Emulated, ALinksRateCountsTheHeadersOfItsFrames) {
    EXPECT_EQ(link_byte_ps("1gbit"), 8365);  // 8 ns * 1514 / 1448
    EXPECT_EQ(link_byte_ps("1000mbit"), 8365);
    EXPECT_EQ(link_byte_ps("0.5gbit"), 16729);
    EXPECT_EQ(link_byte_ps("8000000kbit"), link_byte_ps("8gbit"));
    EXPECT_EQ(link_byte_ps("2000000bit"), link_byte_ps("2mbit"));
    EXPECT_EQ(link_byte_ps("1tbit"), 8);
}

TEST(Emulated, WhatIsNoRateHasNone) {
    for (const char* rate : {"", "gbit", "fast", "1", "0gbit", "-1gbit", "1gbyte", "1gbit "}) {
        EXPECT_EQ(link_byte_ps(rate), 0) << rate;
        EXPECT_EQ(link_rest_ns(rate), 0) << rate;
    }
}

TEST(Emulated, ABucketHolds128KiBOfFramesAndIsFullAfterARest) {
    EXPECT_EQ(link_burst_bytes(), 131072L * 1448 / 1514);
    // As long as a full bucket takes to fill, and a fourth more.
    EXPECT_EQ(link_rest_ns("1gbit"), 131072L * 8 * 5 / 4);
    EXPECT_EQ(link_rest_ns("100mbit"), 10 * link_rest_ns("1gbit"));
}

TEST(Emulated, RanksShareCoresInTurnOrNotAtAll) {
    const auto shared = [](const std::vector<int>& core_of) { return shared_cores(core_of); };
    EXPECT_EQ(shared({0}), 0);
    EXPECT_EQ(shared({0, 1, 2}), 0);
    EXPECT_EQ(shared({7, 3}), 0);
    EXPECT_EQ(shared({0, 0}), 1);
    EXPECT_EQ(shared({0, 1, 0, 1}), 2);
    EXPECT_EQ(shared({5, 2, 5}), 2);
    EXPECT_EQ(shared({0, 0, 1, 1}), std::nullopt);
    EXPECT_EQ(shared({0, 1, 1}), std::nullopt);
    // A rank that may use several cores is not known to share one.
    EXPECT_EQ(shared({-1, 0, 0}), 0);
    EXPECT_EQ(shared({-1, -1}), 0);
}

TEST(Emulated, ClustersThatTheSimulatorDoesNotHaveAreRefused) {
    EXPECT_TRUE(check_emulated(cluster(3, 0, 2)).is_ok());
    EXPECT_TRUE(check_emulated(cluster(8, 4)).is_ok());
    EXPECT_FALSE(check_emulated(cluster(8, 4, 2)).is_ok());
    EXPECT_EQ(std::string(last_detail()), "links = 2; expected 1: a simulated node has one");
    EXPECT_FALSE(check_emulated(cluster(7, 4)).is_ok());
    EXPECT_EQ(std::string(last_detail()),
              "7 ranks on 4 nodes; expected as many ranks on each node");
}

TEST(Emulated, NodesHaveTheirShareOfTheRanksAndTheClustersLinks) {
    EXPECT_FALSE(emulated(cluster(4, 0), 0));
    const auto nodes = emulated(cluster(8, 4), 2);
    ASSERT_TRUE(nodes);
    EXPECT_EQ(nodes->nodes, 4);
    EXPECT_EQ(nodes->ranks_per_node, 2);
    EXPECT_EQ(nodes->link_byte_ps, link_byte_ps("1gbit"));
    EXPECT_EQ(nodes->burst_bytes, link_burst_bytes());
    EXPECT_EQ(nodes->cores, 2);
}

// One message from node 0 to node 1.
std::int64_t message_ps(std::int64_t bytes, const model::LogGpParameters& parameters) {
    const Region data{Buffer::recv, 0, bytes};
    ScheduleBuilder sender(0, 2), receiver(1, 2);
    sender.send(data, 1);
    receiver.recv(data, 0);
    simulate::LogGpMachine machine(parameters);
    machine.set_nodes(*emulated(cluster(2, 2), 0));
    const Schedule schedules[] = {*sender.seal(), *receiver.seal()};
    for (const Schedule& schedule : schedules) machine.add(schedule);
    const Result<simulate::LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    return (*outcome).end_ps[1];
}

TEST(Emulated, ARestedLinkLetsABurstThroughAndShapesTheRest) {
    model::LogGpParameters parameters;
    parameters.byte_gap_ps = 100;
    parameters.eager_bytes_max = model::time_max_ps;
    const auto unshaped = [&](std::int64_t bytes) {
        return 2 * parameters.overhead_ps + parameters.latency_ps +
               (bytes - 1) * parameters.byte_gap_ps;
    };
    EXPECT_EQ(message_ps(64 * 1024, parameters), unshaped(64 * 1024));
    EXPECT_EQ(message_ps(link_burst_bytes(), parameters), unshaped(link_burst_bytes()));
    const std::int64_t bytes = 1 << 20;
    EXPECT_EQ(message_ps(bytes, parameters),
              unshaped(1) + (bytes - 1 - link_burst_bytes()) * link_byte_ps("1gbit"));
}

TEST(Emulated, ASwitchIsWhatASmallMessageTakesLongerOnASharedCore) {
    const auto measured = [](std::int64_t latency_ps, std::int64_t overhead_ps) {
        model::MeasuredParameters parameters;
        parameters.messages.push_back(
            {1024, {.latency_ps = latency_ps, .overhead_ps = overhead_ps}});
        parameters.messages.push_back({65536, {.latency_ps = 99, .overhead_ps = 99}});
        return parameters;
    };
    EXPECT_EQ(switch_ps(measured(9000, 700), measured(5000, 500)), 9000 + 1400 - 5000 - 1000);
    // Measurements vary; a switch takes no less than nothing.
    EXPECT_EQ(switch_ps(measured(5000, 500), measured(9000, 700)), 0);
}

}  // namespace weft::bench::emulated_test
