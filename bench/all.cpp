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

// A job that fails is reported, and does not keep others from being measured: asynchronous progress
// aborts now and then.
int bench_against(const AgainstOptions& options, const std::string& json) {
    if (!json.empty()) std::remove(json.c_str());
    std::vector<Testbed> testbeds = {Testbed{}};
    if (is_available(options.cluster)) {
        testbeds.push_back(options.cluster);
    } else {
        std::printf("Left out: what is on an emulated cluster (the reason is above).\n");
    }
    int first = 0;
    const auto count = [&first](int status) {
        std::printf("\n");
        if (first == 0) first = status;
    };
    for (const Testbed& testbed : testbeds) {
        LatencyOptions latency = options.latency;
        latency.testbed = testbed;
        latency.against = options.mpis;
        count(bench_latency(latency));

        OverlapOptions overlap = options.overlap;
        overlap.testbed = testbed;
        overlap.against = options.mpis;
        overlap.json = json;
        count(bench_overlap(overlap));
        overlap.against.async = true;
        overlap.sizes = options.async_sizes;
        overlap.budget_s = options.async_budget_s;
        count(bench_overlap(overlap));
    }
    IdleOptions idle = options.idle;
    idle.against = options.mpis;
    count(bench_idle(idle));
    return first;
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
    if (options.against.mpis.is_wanted())
        return bench_against(options.against, options.overlap.json);
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
