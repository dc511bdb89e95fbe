// Reading the settings.
#include "transport/tcp/settings.h"

#include <string_view>

#include "base/setting.h"
#include "transport/common/connect_setting.h"
#include "transport/common/eager_threshold.h"

namespace weft::tcp {
namespace {

constexpr std::int64_t connections_max = 64;

// "2", "2+8", "+8"
Status read_connections(Settings& s) {
    const std::string_view both = text_setting("connections");
    if (both.empty()) return ok;
    const std::size_t plus = both.find('+');
    auto read = [](std::string_view number, std::int64_t min, std::uint32_t& into) {
        const std::optional<std::int64_t> value = parse_whole_number(number);
        if (!value || *value < min || *value > connections_max) return false;
        into = static_cast<std::uint32_t>(*value);
        return true;
    };
    const bool is_good = (plus == 0 || read(both.substr(0, plus), 1, s.connections)) &&
                         (plus == both.npos || read(both.substr(plus + 1), 0, s.dedicated_max));
    return is_good ? ok : refuse_setting("connections");
}

}  // namespace

Result<Settings> Settings::from_environment() {
    Settings s;
    s.interfaces = text_setting("WEFT_INTERFACES");

    WEFT_RETURN_IF_NOT_OK(read_connections(s));

    const Result<std::optional<std::size_t>> threshold = eager_threshold_from_environment();
    if (!threshold.is_ok()) return threshold.status();
    if (*threshold) s.eager_threshold = **threshold;

    const Setting timeout = number_setting("WEFT_PEER_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();
    if (*timeout) s.peer_timeout_ns = **timeout;

    const Result<bool> ahead = connects_ahead_from_environment();
    if (!ahead.is_ok()) return ahead.status();
    s.connects_ahead = *ahead;
    return s;
}

}  // namespace weft::tcp
