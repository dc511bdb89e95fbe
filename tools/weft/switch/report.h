// What a run with a distance between its nodes says at its end.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct SwitchReport {
    bool is_complete = false;  // the switch ran until the end
    std::int64_t delay_ns = 0;
    std::int64_t bias_ns = 0;
    std::int64_t late_max_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t elapsed_ns = 0;
    std::uint64_t bytes = 0;
    std::string congestion;
    int core = -1;  // -1: none of its own

    // Above it the links were not those that were asked for.
    std::int64_t late_bound_ns() const;
    bool is_as_asked() const { return is_complete && late_max_ns <= late_bound_ns(); }
};

// Sentences, one in each line.
std::string report_text(const SwitchReport& report);

// One line of JSON, for the bench.
std::string report_json(const SwitchReport& report);

}  // namespace weft
