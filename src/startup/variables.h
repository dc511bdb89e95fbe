// Reading the variables by which a launcher tells a process its rank, Weft's or another's.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/setting.h"

namespace weft {

inline bool is_set(const char* name) { return std::getenv(name) != nullptr; }

// Its text; empty: it is not set.
inline std::string_view variable(const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? text : "";
}

// Refused, by name, if it is set to anything else.
inline Setting whole_number(const char* name, std::int64_t min, std::int64_t max) {
    return number_setting(SettingInfo{name, nullptr, SettingForm::whole_number(min, max)});
}

}  // namespace weft
