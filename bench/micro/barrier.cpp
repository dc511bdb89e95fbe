// A barrier of two ranks, compared with the round trip of a cache line between their cores.
#include <atomic>

#include "base/clock.h"
#include "base/engine_kind.h"
#include "bench/micro/rows.h"
#include "bench/micro/shared.h"
#include "bench/statistics.h"

namespace weft::bench {
namespace {

constexpr double bar = 3;  // round trips
constexpr int batch = 100;

using Line = std::atomic<std::uint32_t>;

// Rank 0 makes the number odd, rank 1 makes it even again.
void round_trip(Line& line, int rank) {
    if (rank == 0) {
        const std::uint32_t next = line.load(std::memory_order_relaxed) + 2;
        line.store(next - 1, std::memory_order_release);
        while (line.load(std::memory_order_acquire) != next) {
        }
    } else {
        std::uint32_t seen;
        while ((seen = line.load(std::memory_order_acquire)) % 2 == 0) {
        }
        line.store(seen + 1, std::memory_order_release);
    }
}

// The mean of a batch: a single one is too short for the clock. Each round trip or barrier begins
// when the one before has ended on both sides.
template <class Step>
double batch_ns(const Job& job, const Step& step) {
    must(weft_barrier(job.comm), "weft_barrier");
    const std::int64_t begin = now_ns();
    for (int i = 0; i < batch; ++i) step();
    return static_cast<double>(now_ns() - begin) / batch;
}

void barrier(const Job& job) {
    weft_request request = WEFT_REQUEST_NULL;
    must(weft_ibarrier(job.comm, &request), "weft_ibarrier");
    must(weft_wait(&request), "weft_wait");
}

}  // namespace

MicroRows measure_barrier(const Job& job, int repetitions) {
    constexpr EngineKind chosen[] = {EngineKind::manual, EngineKind::thread};
    SharedMemory memory(job, 4096);
    Line& line = *memory.at<Line>(0);
    std::vector<double> trips;
    std::vector<double> barriers[std::size(chosen)];
    for (int i = 0; i < repetitions; ++i) {
        trips.push_back(batch_ns(job, [&] { round_trip(line, job.rank); }));
        for (std::size_t e = 0; e < std::size(chosen); ++e) {
            must(weft_set_engine(static_cast<weft_engine>(chosen[e])), "weft_set_engine");
            barrier(job);  // starts the engine's thread
            barriers[e].push_back(batch_ns(job, [&] { barrier(job); }));
        }
    }
    const double trip = median(trips);
    MicroRows rows = {{.what = "round trip of a cache line", .value = trip, .unit = "ns"}};
    for (std::size_t e = 0; e < std::size(chosen); ++e) {
        const char* const engine = traits(chosen[e]).name;
        const double value = median(barriers[e]);
        rows.push_back({"barrier, start + wait", engine, value, "ns"});
        rows.push_back({"  in round trips", engine, value / trip, "x", bar, "<= 3 x"});
    }
    return rows;
}

}  // namespace weft::bench
