// Reading settings of common forms from the environment. Each function returns the variable's
// value, nothing if it is not set, or a refusal: "WEFT_RANKS = 'two'; expected ...".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weft {

using Setting = Result<std::optional<std::int64_t>>;

struct SettingRange {
    std::int64_t min;
    std::int64_t max;
};

std::optional<std::int64_t> parse_whole_number(std::string_view text);
Setting whole_number_setting(const char* name, SettingRange range);
// In the form that parse_bytes() takes.
Setting bytes_setting(const char* name, SettingRange range);
// "2", "0.5": more than 0 s and at most 1,000,000 s, in nanoseconds.
Setting seconds_setting(const char* name);
// "0" or "1".
Result<bool> switch_setting(const char* name, bool if_not_set = false);

// "65536", "64K", "4M", "1G": powers of 1024. None: it is something else, or overflows.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// "4x4", "2x3x4": positive sizes. None: it is something else, or the product is above 2^31 - 1.
std::optional<std::vector<Rank>> parse_sizes(std::string_view text);

}  // namespace weft
