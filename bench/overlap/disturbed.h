// Rows with an impossible overlap: they are measured again.
#pragma once

namespace weft::bench {

inline constexpr int attempts_max = 3;

// Whether an overlap is beyond -100 ... 100 %: the work or the operation took longer than usual.
// Short operations do not count: noise and a thread's wake-up take as long as they do. Nor does a
// spinning thread, which may take any time.
inline bool is_disturbed(double overlap_percent, double blocking_us, bool spins) {
    constexpr double short_us = 20;
    constexpr double rounding = 0.5;
    if (blocking_us < short_us) return false;
    return overlap_percent > 100 + rounding || (overlap_percent < -100 - rounding && !spins);
}

// Calls `measure`, which returns a range of cells, until none is disturbed, or attempts_max times.
template <class Measure>
auto undisturbed(Measure measure) {
    for (int attempt = 1;; ++attempt) {
        auto cells = measure();
        bool again = false;
        for (const auto& cell : cells) again |= cell.is_disturbed();
        if (!again || attempt == attempts_max) return cells;
    }
}

}  // namespace weft::bench
