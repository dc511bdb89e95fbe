// Rows with an impossible overlap: they are measured again.
#pragma once

#include <algorithm>

namespace weft::bench {

inline constexpr int attempts_max = 3;

// More than all of an operation cannot be hidden.
inline bool is_impossible(double overlap_percent) {
    constexpr double rounding = 0.5;
    return overlap_percent > 100 + rounding;
}

// Whether an overlap is beyond -100 ... 100 %: the work or the operation took longer than usual.
// Short operations do not count: noise and a thread's wake-up take as long as they do. Nor does a
// spinning thread, which may take any time.
inline bool is_disturbed(double overlap_percent, double blocking_us, bool spins) {
    constexpr double short_us = 20;
    constexpr double rounding = 0.5;
    if (blocking_us < short_us) return false;
    return is_impossible(overlap_percent) || (overlap_percent < -100 - rounding && !spins);
}

// Calls `measure` until its result is not disturbed, or attempts_max times.
template <class Measure, class IsDisturbed>
auto undisturbed(Measure measure, IsDisturbed is_disturbed) {
    for (int attempt = 1;; ++attempt) {
        auto cells = measure();
        if (attempt == attempts_max || !is_disturbed(cells)) return cells;
    }
}

// ... of a range of cells.
template <class Measure>
auto undisturbed(Measure measure) {
    return undisturbed(measure, [](const auto& cells) {
        return std::ranges::any_of(cells, [](const auto& cell) { return cell.is_disturbed(); });
    });
}

}  // namespace weft::bench
