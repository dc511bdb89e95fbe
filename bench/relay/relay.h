// `weft bench relay`: how soon a message passes a rank that computes.
#pragma once

#include "bench/relay/options.h"

namespace weft::bench {

// Starts the three ranks; in a rank, measures. Rank 0 prints. Returns the exit status.
int bench_relay(const RelayOptions& options);

}  // namespace weft::bench
