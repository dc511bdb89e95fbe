// Settings of the ucx transport, from the environment. UCX reads its own settings, UCX_*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/status.h"

namespace weft::ucx {

struct Settings {
    // WEFT_RENDEZVOUS, in bytes; at most eager_bytes_max
    std::size_t eager_threshold = 16 * 1024;
    // Over several links, messages of this size and more are cut into a piece for each. (Uniform on
    // all ranks.)
    std::size_t cut_bytes_min = 64 * 1024;
    // WEFT_PEER_TIMEOUT: UCX's keepalive probes a peer four times as often, and this transport
    // waits this long for the end of a cancelled transfer.
    std::int64_t peer_timeout_ns = 10'000'000'000;
    bool connects_ahead = false;  // connect in WEFT_RESOURCES: "ahead" while joining; "need"
    // At its end a rank waits this long until its peers have received its messages. They may
    // compute.
    std::int64_t goodbye_ns = 1'000'000'000;
    std::uint32_t first_sequence = 0;  // for tests: where frames are counted from, on all ranks
    // For tests whose ranks share a thread: called while the transport waits for a peer.
    std::function<void()> while_waiting{};

    static constexpr std::size_t eager_bytes_max = 64 * 1024;

    static Result<Settings> from_environment();
};

}  // namespace weft::ucx
