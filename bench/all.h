// `weft bench all`: the short tour, in about two minutes.
#pragma once

#include "bench/overlap/options.h"
#include "bench/relay/options.h"

namespace weft::bench {

struct AllOptions {
    int micro_repetitions = 400;
    OverlapOptions overlap = {.sizes = "8,512,16K,256K,1M,4M", .repetitions = 50, .budget_s = 60};
    OverlapOptions cluster = {.collectives = {"ibcast", "iallgather", "iallreduce"},
                              .engines = {"manual", "thread", "kernel"},
                              .sizes = "8,64K,1M",
                              .testbed = {.nodes = 2},
                              .budget_s = 35,
                              .attainable = true};
    RelayOptions relay = {.engines = {"thread", "thread:long", "kernel", "kernel:own"},
                          .sizes = "64K,1M",
                          .repetitions = 10};
};

// Leaves out, with a sentence, what this machine has no cluster or too few cores for. Returns the first exit status that
// is not 0.
int bench_all(const AllOptions& options);

}  // namespace weft::bench
