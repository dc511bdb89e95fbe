// The form of a setting that names an algorithm: "chain:segment=64K,window=8",
// "bruck:ports=3", "binomial:throttle=1", "multi_leader:leaders=2,inner=ring".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace weft {

struct AlgorithmSetting {
    std::string name;
    std::optional<std::int64_t> segment_bytes;
    std::optional<std::uint32_t> window;
    std::optional<std::uint32_t> ports;
    std::optional<bool> throttle;
    std::optional<std::string> inner;
    std::optional<std::uint32_t> leaders;
};

// A refusal's sentence names `variable`.
Result<AlgorithmSetting> parse_algorithm(const char* variable, std::string_view text);

}  // namespace weft
