// Options that take seconds.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace weft {

enum class Least : std::uint8_t { zero, above_zero };

// At most about thirty years, so that deadlines in nanoseconds do not overflow.
inline CLI::Validator seconds(Least least) {
    constexpr double most = 1e9;
    return CLI::Validator(
        [least](const std::string& text) -> std::string {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            const bool is_enough = least == Least::zero ? value >= 0 : value > 0;
            if (is_number && is_enough && value <= most) return "";
            return "'" + text + "'; expected seconds, " +
                   (least == Least::zero ? "0 or more" : "more than 0") + " and at most 1e9";
        },
        "SECONDS");
}

}  // namespace weft
