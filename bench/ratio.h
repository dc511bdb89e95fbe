// One time divided by another, by repetition.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/json.h"
#include "bench/statistics.h"

namespace weft::bench {

struct Ratio {
    explicit Ratio(const std::vector<double>& pairs)
        : middle(median(pairs)), interval(median_interval(pairs)) {}

    double middle;
    Interval interval;  // 95 %, of the median

    std::string text() const;           // "0.93"
    std::string interval_text() const;  // "0.91-0.96"
    JsonLine json() const;
};

struct NamedRatio {
    std::string name;  // "ialltoall 64K"
    Ratio ratio;
};

// "geometric mean of 8 ratios 0.93, worst 1.02 [0.99-1.04] (ialltoall 64K)". At least one.
std::string summary(std::span<const NamedRatio> ratios);

// "above 1.05 beyond the interval: ialltoall 64K", or none.
std::string above_bar(std::span<const NamedRatio> ratios);

}  // namespace weft::bench
