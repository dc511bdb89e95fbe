// Order statistics of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
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

inline double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

}  // namespace weft::bench
