// The measurements of the tour, one after another.
#include "bench/all.h"

#include <unistd.h>

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
            "Left out: the overlap on an emulated cluster, which cannot be set up here (see "
            "above).\n");
        return 0;
    }
    return bench_overlap(options);
}

// Reports a job that fails and continues with the others: jobs with asynchronous progress abort now
// and then.
int bench_against(const AgainstOptions& options, const std::string& json) {
    if (!json.empty()) std::remove(json.c_str());
    std::vector<Testbed> testbeds = {Testbed{}};
    if (is_available(options.cluster)) {
        testbeds.push_back(options.cluster);
    } else {
        std::printf("Left out: measurements on an emulated cluster (see above).\n");
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
        std::printf("Left out: relays, because they need two cores.\n");
        return 0;
    }
    return bench_relay(options);
}

}  // namespace

int bench_all(const AllOptions& options) {
    if (options.against.mpis.is_wanted())
        return bench_against(options.against, options.overlap.json);
    int first = 0;
    const auto count = [&first](int status) {
        std::printf("\n");
        if (first == 0) first = status;
    };
    const OverlapOptions& overlap = options.overlap;
    OverlapOptions cluster = options.cluster;
    cluster.bars = overlap.bars;
    cluster.summary = overlap.summary;
    if (!overlap.json.empty()) {
        cluster.json = overlap.json + ".cluster";
        std::remove(cluster.json.c_str());  // if there is no cluster, an old file would remain
    }

    if (options.verbose) count(bench_micro({options.micro_repetitions, overlap.bars}));
    count(bench_overlap(overlap));
    count(bench_cluster(cluster));
    if (options.verbose) {
        RelayOptions relay = options.relay;
        relay.bars = overlap.bars;
        count(bench_relays(relay));
    }
    if (!overlap.json.empty()) {
        const bool has_cluster = access(cluster.json.c_str(), R_OK) == 0;
        std::printf("Details: every measurement is in %s%s.\n", overlap.json.c_str(),
                    has_cluster ? (" and " + cluster.json).c_str() : "");
    } else if (!options.verbose) {
        std::printf(
            "Details: --verbose shows all sizes and engines, relays and the smallest costs; --json "
            "FILE writes every measurement.\n");
    }
    return first;
}

}  // namespace weft::bench
