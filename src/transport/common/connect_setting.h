// connect in WEFT_RESOURCES: when connections are made.
#pragma once

#include <cstdint>

#include "base/setting.h"

namespace weft {

// True, "ahead": while joining the job. False, "need": when a post first names the peer.
inline Result<bool> connects_ahead_from_environment() {
    const Result<std::optional<std::string_view>> when = word_setting("connect");
    if (!when.is_ok()) return when.status();
    return *when == "ahead";
}

// How long a rank that connects ahead waits for the others.
inline constexpr std::int64_t connect_ahead_ns = 30'000'000'000;

}  // namespace weft
