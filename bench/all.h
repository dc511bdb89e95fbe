// `weft bench all`: the short tour, in about a hundred seconds.
#pragma once

#include "bench/overlap/options.h"

namespace weft::bench {

struct AllOptions {
    int micro_repetitions = 400;
    OverlapOptions overlap = {.sizes = "8,512,16K,256K,1M,4M", .repetitions = 50, .budget_s = 60};
    OverlapOptions cluster = {.collectives = {"ibcast", "iallgather", "iallreduce"},
                              .engines = {"manual", "thread"},
                              .sizes = "8,64K,1M",
                              .testbed = {.nodes = 2},
                              .budget_s = 35,
                              .attainable = true};
};

// Goes on without the emulated cluster where there can be none. Returns the first exit status that
// is not 0.
int bench_all(const AllOptions& options);

}  // namespace weft::bench
