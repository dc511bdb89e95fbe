// Settings of the tcp transport, from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace weft::tcp {

// Addresses that peers are offered besides the one to call first, if the user has chosen none.
inline constexpr std::size_t others_max = 4;

struct Settings {
    std::string interfaces;  // WEFT_INTERFACES: see address.h
    // The user has not chosen them: there are others, and the kernel chooses from which to call.
    bool by_route = false;
    // connections in WEFT_RESOURCES, of each pair: shared ones (0: one per interface), and
    // dedicated ones
    std::uint32_t connections = 0;
    std::uint32_t dedicated_max = 16;
    // dedicated_rendezvous in WEFT_RESOURCES: eager_threshold also holds on dedicated ones
    bool dedicated_rendezvous = false;
    // WEFT_RENDEZVOUS, in bytes: messages of fewer are sent at once, larger ones wait for their
    // receive. 0: only failure notices (context 0) are eager, which orders them before the
    // cancellations that they explain.
    std::size_t eager_threshold = 128 * 1024;
    // Over several links, messages of this size and more are cut into a piece for each. (Uniform on
    // all ranks.)
    std::size_t cut_bytes_min = 64 * 1024;
    // WEFT_PEER_TIMEOUT: a peer whose host has not answered for this time is lost
    std::int64_t peer_timeout_ns = 10'000'000'000;
    std::int64_t call_delay_max_ns = 500'000'000;  // before a call that has failed is tried again
    // connect in WEFT_RESOURCES: "ahead" while joining; "need"
    bool connects_ahead = false;

    static Result<Settings> from_environment();
};

}  // namespace weft::tcp
