// Starts of an operation whose schedule is cached: time, and memory allocations.
#include <algorithm>

#include "algorithm/catalogue.h"
#include "base/clock.h"
#include "base/engine_kind.h"
#include "bench/allocations.h"
#include "bench/collective/collective.h"
#include "bench/micro/rows.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

constexpr double bar_us = 1;  // if no call has arrays of counts
constexpr std::int64_t block_bytes = 8;

struct Cost {
    double median_us = 0;
    double allocations_max = 0;
};

Cost measure(const Job& job, const Collective& what, int repetitions) {
    constexpr int warm_up = 20;
    Case c = make_case(job, what, block_bytes);
    what.fill(c, 1);
    std::vector<double> samples;
    samples.reserve(static_cast<std::size_t>(repetitions));
    Cost cost;
    for (int i = -warm_up; i < repetitions; ++i) {
        weft_request request = WEFT_REQUEST_NULL;
        must(weft_barrier(job.comm), "weft_barrier");
        const std::uint64_t allocations_before = allocations();
        const std::int64_t begin = now_ns();
        const weft_status status = what.start(c, &request);
        const std::int64_t end = now_ns();
        const std::uint64_t allocated = allocations() - allocations_before;
        must(status, what.name);
        must(weft_wait(&request), "weft_wait");
        if (i < 0) continue;
        samples.push_back(static_cast<double>(end - begin) / 1000);
        cost.allocations_max = std::max(cost.allocations_max, static_cast<double>(allocated));
    }
    cost.median_us = slowest(job, median(samples));
    cost.allocations_max = slowest(job, cost.allocations_max);
    return cost;
}

}  // namespace

MicroRows measure_start(const Job& job, int repetitions) {
    MicroRows rows;
    for (const Collective* what : collectives()) {
        // Names of calls begin with i.
        const algorithm::CollectiveSpec* spec = algorithm::find_spec(what->name + 1);
        if (!spec) continue;
        for (const EngineKind engine : {EngineKind::manual, EngineKind::thread}) {
            must(weft_set_engine(static_cast<weft_engine>(engine)), "weft_set_engine");
            const Cost cost = measure(job, *what, repetitions);
            const std::string title = std::string("cached start of ") + what->name +
                                      (what->has_size ? " of 8 bytes" : "");
            const char* const name = traits(engine).name;
            if (spec->lists_blocks()) {
                rows.push_back({title, name, cost.median_us, "us"});
            } else {
                rows.push_back({title, name, cost.median_us, "us", bar_us, "< 1 us"});
            }
            if (!counts_allocations()) continue;
            rows.push_back({"  at most", name, cost.allocations_max, "allocations", 0, "0"});
        }
    }
    must(weft_set_engine(WEFT_ENGINE_MANUAL), "weft_set_engine");
    return rows;
}

}  // namespace weft::bench
