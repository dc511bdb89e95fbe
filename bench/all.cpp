// The measurements of the short tour, one after the other.
#include "bench/all.h"

#include <cstdio>

#include "bench/launch.h"
#include "bench/micro/micro.h"
#include "bench/overlap/overlap.h"
#include "bench/relay/relay.h"
#include "weft/build.h"

namespace weft::bench {
namespace {

int bench_cluster(const OverlapOptions& options) {
    if (!is_available(options.testbed)) {
        std::printf(
            "Left out: the overlap on an emulated cluster, which cannot be set up here (the reason "
            "is above).\n");
        return 0;
    }
    return bench_overlap(options);
}

int bench_relays(const RelayOptions& options) {
    if (tcp_absence() != nullptr) {
        std::printf("Left out: relays, over tcp: %s.\n", tcp_absence());
        return 0;
    }
    if (usable_cores() < 2) {
        std::printf("Left out: relays, which need a second core.\n");
        return 0;
    }
    return bench_relay(options);
}

}  // namespace

int bench_all(const AllOptions& options) {
    const int micro = bench_micro({options.micro_repetitions});
    std::printf("\n");
    const int overlap = bench_overlap(options.overlap);
    std::printf("\n");
    const int cluster = bench_cluster(options.cluster);
    std::printf("\n");
    const int relay = bench_relays(options.relay);
    for (const int status : {micro, overlap, cluster, relay}) {
        if (status != 0) return status;
    }
    return 0;
}

}  // namespace weft::bench
