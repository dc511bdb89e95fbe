// The speed of the loops that combine vectors, with data in the caches.
#include <cstring>

#include "base/clock.h"
#include "bench/collective/collective.h"
#include "bench/micro/rows.h"
#include "bench/statistics.h"
#include "reduce/reduce.h"

namespace weft::bench {
namespace {

constexpr std::size_t bytes = 64 * 1024;

struct Combination {
    weft_op op;
    weft_type type;
};

double gigabytes_per_second(const Reduction& reduction, int repetitions) {
    constexpr int batch = 10;  // a single one is too short for the clock
    PageBuffer from(bytes);
    PageBuffer into(bytes);
    std::memset(from.data(), 1, bytes);
    std::memset(into.data(), 1, bytes);
    std::vector<double> samples;
    for (int i = 0; i < repetitions; ++i) {
        const std::int64_t begin = now_ns();
        for (int b = 0; b < batch; ++b) reduction.apply(from.data(), into.data(), bytes);
        samples.push_back(static_cast<double>(batch * bytes) /
                          static_cast<double>(now_ns() - begin));
    }
    return median(samples);
}

}  // namespace

MicroRows measure_reduction(const Job& job, int repetitions) {
    const Combination combinations[] = {
        {WEFT_SUM, WEFT_FLOAT64}, {WEFT_SUM, WEFT_FLOAT32}, {WEFT_SUM, WEFT_INT32},
        {WEFT_MAX, WEFT_FLOAT64}, {WEFT_BAND, WEFT_UINT64},
    };
    MicroRows rows;
    if (job.rank == 0) {  // the other rank sleeps in the next collective
        for (const Combination& c : combinations) {
            Result<Reduction> reduction = bind_reduction(c.op, c.type);
            if (!reduction.is_ok()) fail("%s", last_detail());
            rows.push_back({.what = std::string("reducing ") + op_name(c.op) + " of " +
                                    type_name(c.type) + ", 64 KiB",
                            .value = gigabytes_per_second(*reduction, repetitions),
                            .unit = "GB/s"});
        }
    }
    must(weft_barrier(job.comm), "weft_barrier");
    return rows;
}

}  // namespace weft::bench
