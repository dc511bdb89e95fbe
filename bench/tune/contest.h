// Which of several algorithms need more repetitions to find the fastest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace weft::bench {

// As a fraction of the median: measuring stops once its interval is narrower.
inline constexpr double narrow = 0.05;

struct Contender {
    std::size_t candidate;        // its number
    std::vector<double> us = {};  // by repetition
    bool is_in = true;
    std::vector<std::string> alike = {};  // others with the same schedules

    bool is_narrow() const {
        const Interval interval = median_interval(us);
        return interval.high - interval.low <= narrow * median(us);
    }
    double differs() const {
        std::vector<double> even, odd;
        for (std::size_t i = 0; i < us.size(); ++i) (i % 2 == 0 ? even : odd).push_back(us[i]);
        return odd.empty() ? 0 : std::abs(median(even) / median(odd) - 1);
    }
};

// Leaves out those whose intervals lie above the fastest's. Returns whether any of the rest needs more repetitions.
inline bool narrow_down(std::vector<Contender>& contenders) {
    const Contender& best =
        *std::ranges::min_element(contenders, {}, [](const auto& c) { return median(c.us); });
    const double limit = median_interval(best.us).high;
    bool goes_on = false;
    for (Contender& contender : contenders) {
        contender.is_in = contender.is_in && median_interval(contender.us).low <= limit;
        goes_on |= contender.is_in && !contender.is_narrow();
    }
    return goes_on;
}

}  // namespace weft::bench
