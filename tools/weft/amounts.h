// Amounts with a unit, as options take them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

namespace weft {

// "2.5ms", by a list of units and their factors. None: it is something else.
inline std::optional<double> amount(const std::string& text,
                                    std::initializer_list<std::pair<const char*, double>> units) {
    const std::string number = text.substr(0, text.find_first_not_of("0123456789."));
    const std::string unit = text.substr(number.size());
    const bool is_number = !number.empty() && number.front() != '.' && number.back() != '.' &&
                           number.find('.') == number.rfind('.');
    if (!is_number) return std::nullopt;
    for (const auto& [name, factor] : units) {
        if (unit == name) return std::strtod(number.c_str(), nullptr) * factor;
    }
    return std::nullopt;
}

// "1gbit", as tc reads it; 0: it is no rate.
inline double bits_per_second(const std::string& rate) {
    return amount(rate, {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"tbit", 1e12}})
        .value_or(0);
}

// "1ms"
inline std::optional<std::int64_t> nanoseconds(const std::string& time) {
    const std::optional<double> value = amount(time, {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});
    if (!value || *value > 1e18) return std::nullopt;
    return static_cast<std::int64_t>(*value + 0.5);
}

// "0.1%" is 0.001.
inline std::optional<double> share(const std::string& percent) {
    return amount(percent, {{"%", 0.01}});
}

}  // namespace weft
