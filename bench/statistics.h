// Order statistics of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace weft::bench {

// The value below which a share `q` (0 ... 1) of the samples lies, linear between neighbours.
// 0 without samples.
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

// The one-sided lower 95 % confidence bound of the median, whatever the distribution (the sign
// test): the greatest order statistic that a median lies below in at most 5 % of all cases. The
// 11th smallest of 30 samples; minus infinity of fewer than 5.
inline double median_lower_bound(std::vector<double> samples) {
    constexpr double risk = 0.05;
    const double size = static_cast<double>(samples.size());
    // That just k of the samples lie below the median has the probability binomial(n, k) / 2^n.
    const auto chance = [&](std::size_t k) {
        const double below = static_cast<double>(k);
        return std::exp(std::lgamma(size + 1) - std::lgamma(below + 1) -
                        std::lgamma(size - below + 1) - size * std::log(2.0));
    };
    std::size_t order = 0;  // counted from 1
    for (double sum = chance(0); sum <= risk; sum += chance(order)) ++order;
    if (order == 0) return -std::numeric_limits<double>::infinity();
    std::sort(samples.begin(), samples.end());
    return samples[order - 1];
}

}  // namespace weft::bench
