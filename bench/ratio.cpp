// Ratios in words.
#include "bench/ratio.h"

#include <cmath>

#include "bench/table.h"

namespace weft::bench {

std::string Ratio::text() const { return fixed(middle, 3); }

std::string Ratio::interval_text() const {
    if (!std::isfinite(interval.low)) return "-";
    return fixed(interval.low, 3) + "-" + fixed(interval.high, 3);
}

JsonLine Ratio::json() const {
    JsonLine line;
    return line.add("median", middle).add("low", interval.low).add("high", interval.high);
}

std::string summary(std::span<const NamedRatio> ratios) {
    double sum = 0;
    const NamedRatio* worst = &ratios.front();
    for (const NamedRatio& one : ratios) {
        sum += std::log(one.ratio.middle);
        if (one.ratio.middle > worst->ratio.middle) worst = &one;
    }
    return "geometric mean of " + std::to_string(ratios.size()) + " ratios " +
           fixed(std::exp(sum / static_cast<double>(ratios.size())), 3) + ", worst " +
           worst->ratio.text() + " [" + worst->ratio.interval_text() + "] (" + worst->name + ")";
}

std::string above_bar(std::span<const NamedRatio> ratios) {
    constexpr double bar = 1.05;
    std::string names;
    for (const NamedRatio& one : ratios) {
        if (one.ratio.interval.low > bar) names += (names.empty() ? "" : ", ") + one.name;
    }
    return "above " + fixed(bar, 2) + " beyond the interval: " + (names.empty() ? "none" : names);
}

}  // namespace weft::bench
