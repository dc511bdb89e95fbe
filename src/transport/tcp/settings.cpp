// Reading the settings.
#include "transport/tcp/settings.h"

#include <stdlib.h>

#include <string_view>

#include "base/setting.h"
#include "transport/common/rendezvous.h"

namespace weft::tcp {
namespace {

// The operating system repeats a lost packet after 0.2 s.
constexpr std::int64_t peer_timeout_min_ns = 100'000'000;

}  // namespace

Result<Settings> Settings::from_environment() {
    Settings s;
    if (const char* interfaces = getenv("WEFT_INTERFACES")) s.interfaces = interfaces;

    const Setting connections = whole_number_setting("WEFT_CONNECTIONS", {1, 64});
    if (!connections.is_ok()) return connections.status();
    if (*connections) s.connections = static_cast<std::uint32_t>(**connections);

    const Result<std::optional<std::size_t>> rendezvous = rendezvous_bytes_from_environment();
    if (!rendezvous.is_ok()) return rendezvous.status();
    if (*rendezvous) s.whole_below = **rendezvous;

    const Setting timeout = seconds_setting("WEFT_PEER_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();
    if (*timeout) s.peer_timeout_ns = **timeout;
    if (s.peer_timeout_ns < peer_timeout_min_ns)
        return failure(WEFT_REFUSED_SETTING, "WEFT_PEER_TIMEOUT = '%s'; expected at least 0.1 s",
                       getenv("WEFT_PEER_TIMEOUT"));

    const char* connect = getenv("WEFT_CONNECT");
    const std::string_view when = connect != nullptr ? connect : "need";
    if (when != "need" && when != "ahead")
        return failure(WEFT_REFUSED_SETTING, "WEFT_CONNECT = '%s'; expected need or ahead",
                       connect);
    s.connects_ahead = when == "ahead";
    return s;
}

}  // namespace weft::tcp
