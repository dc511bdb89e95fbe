// Which algorithm broadcasts, or combines, in the least time, and how far that is from the optimum.
#include <algorithm>

#include "sim/lower_bound.h"
#include "weft/experiment/experiments.h"
#include "weft/experiment/simulated_call.h"

namespace weft::simulate {
namespace {

constexpr Rank ranks_min = 4;
constexpr Rank ranks_max = 1024;
constexpr Rank step = 4;
constexpr std::int64_t segments_max = 256;

struct Fastest {
    std::int64_t time_ps = -1;
    std::string name;
};

// With each algorithm's choices: segments of pipelines, and ports.
Fastest fastest_of(const char* collective, Rank ranks, std::int64_t bytes) {
    Fastest fastest;
    for (const algorithm::Algorithm* algorithm :
         algorithm::find_spec(collective)->flat_algorithms()) {
        SimulatedCall call = call_of(collective, algorithm->name, ranks, bytes);
        const auto run = [&](const std::string& tuning) {
            if (!algorithm->unmet_need(call.agreed).empty()) return;
            const std::int64_t time_ps = time_of(call);
            if (fastest.time_ps >= 0 && fastest.time_ps <= time_ps) return;
            fastest = {time_ps, algorithm->name + tuning};
        };
        if (algorithm->tunes == algorithm::Tunes::segments) {
            for (const std::int64_t segment : {1024, 4096, 16384, 65536}) {
                if (segment > 1024 && segment > bytes) continue;
                if (bytes / segment > segments_max) continue;
                call.agreed.tuning.segment_bytes = segment;
                run(":segment=" + std::to_string(segment));
            }
        } else if (algorithm->tunes == algorithm::Tunes::ports) {
            for (const std::uint32_t ports : {1u, 2u, 3u, 7u}) {
                call.agreed.tuning.ports = ports;
                run(":ports=" + std::to_string(ports));
            }
        } else {
            run("");
        }
    }
    return fastest;
}

}  // namespace

ExperimentResult run_best(const ExperimentSize& size) {
    ExperimentResult result{"best"};
    result.assumptions = {
        "network: L 2.5 us, o 1.5 us, g 1 us, G 6 ns, reductions take no time, no rendezvous up to "
        "64 "
        "KiB (the defaults of weft simulate)",
        "of all algorithms of one level, pipelines with at most 256 segments of 1, 4, 16 or 64 "
        "KiB, and ports "
        "1, 2, 3 "
        "and 7",
        "the bound holds for all algorithms; the optimum may be later"};
    ExperimentTable table{"best",
                          {"collective", "ranks", "bytes", "algorithm", "time_us", "bound_us",
                           "of_the_optimum_percent"}};
    const std::vector<std::int64_t> all_bytes =
        size.bytes.empty() ? std::vector<std::int64_t>{8, 1024, 65536, 1 << 20} : size.bytes;
    for (const char* collective : {"bcast", "allreduce"}) {
        for (std::int64_t ranks = ranks_min; ranks <= size.ranks_max.value_or(ranks_max);
             ranks *= step) {
            for (const std::int64_t bytes : all_bytes) {
                const Fastest fastest = fastest_of(collective, static_cast<Rank>(ranks), bytes);
                algorithm::GlobalArgs agreed;
                agreed.collective = algorithm::find_spec(collective)->collective;
                agreed.ranks = static_cast<Rank>(ranks);
                agreed.bytes = bytes;
                const auto bound_ps = lower_bound(agreed, LogGpParameters{});
                WEFT_ASSERT(bound_ps && fastest.time_ps >= *bound_ps);
                table.rows.push_back(
                    {collective, ranks, bytes, fastest.name, Cell::microseconds(fastest.time_ps),
                     Cell::microseconds(*bound_ps), Cell::percent(*bound_ps, fastest.time_ps)});
            }
        }
    }
    result.tables = {std::move(table)};
    return result;
}

}  // namespace weft::simulate
