// `weft bench all`: what overlaps here, in about a minute; or a comparison with MPIs.
#pragma once

#include "bench/idle.h"
#include "bench/latency.h"
#include "bench/overlap/options.h"
#include "bench/relay/options.h"

namespace weft::bench {

// Weft beside MPIs, here and on an emulated cluster: takes about twenty minutes.
struct AgainstOptions {
    Against mpis = {};
    OverlapOptions overlap = {.collectives = collectives_beside_mpis,
                              .engines = {"auto"},
                              .sizes = "8,512,4K,64K,256K,1M,4M,16M",
                              .budget_s = 240};
    std::string async_sizes = "64K,1M,4M";
    double async_budget_s = 45;
    LatencyOptions latency = {.engines = {"auto"}, .repetitions = 30};
    IdleOptions idle = {.engines = {"auto"}};
    Testbed cluster = {.nodes = 2};
};

// The short tables; with `verbose` everything.
struct AllOptions {
    AgainstOptions against = {};  // if MPIs are named, used instead of the options below
    bool verbose = false;
    int micro_repetitions = 400;
    OverlapOptions overlap = {.collectives = {"ibcast", "iallgather", "iallreduce"},
                              .engines = {"manual", "thread", "kernel"},
                              .sizes = "64K,1M",
                              .budget_s = 20,
                              .summary = true};
    OverlapOptions verbose_overlap = {
        .sizes = "8,512,16K,256K,1M,4M", .repetitions = 50, .budget_s = 60};
    OverlapOptions cluster = {.collectives = {"ibcast", "iallgather", "iallreduce"},
                              .engines = {"manual", "thread", "kernel"},
                              .sizes = "64K,1M",
                              .testbed = {.nodes = 2},
                              .budget_s = 30,
                              .attainable = true,
                              .summary = true};
    std::string verbose_cluster_sizes = "8,64K,1M";
    RelayOptions relay = {.engines = {"thread", "thread:long", "kernel", "kernel:own"},
                          .sizes = "64K,1M",
                          .repetitions = 10};
};

// Leaves out, with a sentence, measurements that need a cluster or more cores than this machine
// has. Returns the first exit status that is not 0.
int bench_all(const AllOptions& options);

}  // namespace weft::bench
