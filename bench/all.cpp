// The measurements of the short tour, one after the other.
#include "bench/all.h"

#include <cstdio>

#include "bench/micro/micro.h"
#include "bench/overlap/overlap.h"

namespace weft::bench {

int bench_all(const AllOptions& options) {
    const int micro = bench_micro({options.micro_repetitions});
    std::printf("\n");
    const int overlap = bench_overlap(options.overlap);
    return micro != 0 ? micro : overlap;
}

}  // namespace weft::bench
