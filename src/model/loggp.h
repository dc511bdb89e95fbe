// LogGP's parameters, and what its formulas give.
//
// All is computed in integers, so that ranks on different machines get the same. Times end at
// `time_max_ps`.
//
// The model: Albert Alexandrov, Mihai Ionescu, Klaus Schauser, Chris Scheiman: LogGP, 1995,
// doi:10.1145/215399.215427; O and S: Hoefler, Schneider, Lumsdaine: LogGOPSim, 2010,
// doi:10.1145/1851476.1851564
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::model {

struct LogGpParameters {
    std::int64_t latency_ps = 2'500'000;   // L
    std::int64_t overhead_ps = 1'500'000;  // o
    std::int64_t gap_ps = 1'000'000;       // g
    std::int64_t byte_gap_ps = 6'000;      // G
    std::int64_t byte_overhead_ps = 0;     // O
    std::int64_t byte_reduction_ps = 0;    // gamma
    std::int64_t byte_copy_ps = 0;
    std::int64_t eager_bytes_max = 65535;  // S
};

// Bytes of a message but the first, which is in o, L and g.
constexpr std::int64_t after_first(std::int64_t bytes) {
    return std::max<std::int64_t>(bytes - 1, 0);
}

// How long something takes, and for how much of that the CPU works.
struct ModelTime {
    std::int64_t time_ps = 0;
    std::int64_t cpu_ps = 0;

    std::int64_t network_ps() const { return time_ps - cpu_ps; }
    friend bool operator==(const ModelTime&, const ModelTime&) = default;
};

// Times end here.
inline constexpr std::int64_t time_max_ps = std::int64_t{1} << 62;

// Of numbers that are not negative; at most `time_max_ps`.
constexpr std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? time_max_ps : std::min(sum, time_max_ps);
}
constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? time_max_ps : std::min(product, time_max_ps);
}

}  // namespace weft::model
