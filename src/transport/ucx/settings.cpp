#include "transport/ucx/settings.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/setting.h"
#include "transport/common/connect_setting.h"
#include "transport/common/eager_threshold.h"

namespace weft::ucx {
namespace {

constexpr std::int64_t peer_timeout_min_ns = 100'000'000;

}  // namespace

Result<Settings> Settings::from_environment() {
    Settings settings;
    const Result<std::optional<std::size_t>> threshold = eager_threshold_from_environment();
    if (!threshold.is_ok()) return threshold.status();
    if (*threshold) settings.eager_threshold = std::min(**threshold, eager_bytes_max);
    const Setting timeout = seconds_setting("WEFT_PEER_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();
    if (*timeout) settings.peer_timeout_ns = **timeout;
    if (settings.peer_timeout_ns < peer_timeout_min_ns)
        return failure(WEFT_REFUSED_SETTING, "WEFT_PEER_TIMEOUT = '%s'; expected at least 0.1 s",
                       std::getenv("WEFT_PEER_TIMEOUT"));
    const Result<bool> ahead = connects_ahead_from_environment();
    if (!ahead.is_ok()) return ahead.status();
    settings.connects_ahead = *ahead;
    return settings;
}

}  // namespace weft::ucx
