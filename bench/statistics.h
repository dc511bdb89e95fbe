// Order statistics of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace weft::bench {

// The value below which a share `q` (0 ... 1) of the samples lies, interpolated linearly; 0 without
// samples.
inline double quantile(std::vector<double> samples, double q) {
    if (samples.empty()) return 0;
    std::sort(samples.begin(), samples.end());
    const double at = q * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (samples[above] - samples[below]) * (at - std::floor(at));
}

// 0 without samples.
inline double mean(const std::vector<double>& samples) {
    if (samples.empty()) return 0;
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
}

inline double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

// The largest order statistic (from 1; 0: none) below which the true median lies with at most this
// probability, for any distribution (the sign test).
inline std::size_t order_below_median(std::size_t samples, double risk) {
    const double size = static_cast<double>(samples);
    // Exactly k of n samples lie below the median with the probability binomial(n, k) / 2^n.
    const auto chance = [&](std::size_t k) {
        const double below = static_cast<double>(k);
        return std::exp(std::lgamma(size + 1) - std::lgamma(below + 1) -
                        std::lgamma(size - below + 1) - size * std::log(2.0));
    };
    std::size_t order = 0;
    for (double sum = chance(0); sum <= risk; sum += chance(order)) ++order;
    return order;
}

struct Interval {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
};

// The two-sided 95 % confidence interval of the median: of 30 samples, from the 10th smallest to
// the 10th largest; of 10, from the 2nd to the 9th; of fewer than 6, unbounded.
inline Interval median_interval(std::vector<double> samples) {
    const std::size_t order = order_below_median(samples.size(), 0.025);
    if (order == 0) return {};
    std::sort(samples.begin(), samples.end());
    return {samples[order - 1], samples[samples.size() - order]};
}

}  // namespace weft::bench
