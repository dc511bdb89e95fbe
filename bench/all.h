// `weft bench all`: the short tour, in under three minutes.
#pragma once

#include "bench/overlap/options.h"

namespace weft::bench {

struct AllOptions {
    int micro_repetitions = 400;
    OverlapOptions overlap = {.sizes = "8,512,16K,256K,1M,4M", .repetitions = 50, .budget_s = 130};
};

// Returns the first exit status that is not 0.
int bench_all(const AllOptions& options);

}  // namespace weft::bench
