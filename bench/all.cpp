// The measurements of the short tour, one after the other.
#include "bench/all.h"

#include <cstdio>

#include "bench/launch.h"
#include "bench/micro/micro.h"
#include "bench/overlap/overlap.h"

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

}  // namespace

int bench_all(const AllOptions& options) {
    const int micro = bench_micro({options.micro_repetitions});
    std::printf("\n");
    const int overlap = bench_overlap(options.overlap);
    std::printf("\n");
    const int cluster = bench_cluster(options.cluster);
    for (const int status : {micro, overlap, cluster}) {
        if (status != 0) return status;
    }
    return 0;
}

}  // namespace weft::bench
