#include "transport/ucx/settings.h"

#include <algorithm>
#include <optional>

#include "base/setting.h"
#include "transport/common/connect_setting.h"
#include "transport/common/eager_threshold.h"

namespace weft::ucx {

Result<Settings> Settings::from_environment() {
    Settings settings;
    const Result<std::optional<std::size_t>> threshold = eager_threshold_from_environment();
    if (!threshold.is_ok()) return threshold.status();
    if (*threshold) settings.eager_threshold = std::min(**threshold, eager_bytes_max);
    const Setting timeout = number_setting("WEFT_PEER_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();
    if (*timeout) settings.peer_timeout_ns = **timeout;
    const Result<bool> ahead = connects_ahead_from_environment();
    if (!ahead.is_ok()) return ahead.status();
    settings.connects_ahead = *ahead;
    return settings;
}

}  // namespace weft::ucx
