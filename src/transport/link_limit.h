// On how many of a node's links the messages of a communicator travel: its context says it, so that
// a rank knows it of messages that come before it has the communicator itself.
#pragma once

#include <cstdint>

namespace weft {

// Of a context. Those from `limited` on are of communicators with a limit: three bits say it, and the
// rest is a number. The contexts of others are numbers below that.
struct LinkLimit {
    static constexpr std::uint32_t links_max = 8;
    static constexpr std::uint32_t number_bits = 27;
    static constexpr std::uint32_t limited = 0xc0000000u;
    static constexpr std::uint32_t number_mask = (1u << number_bits) - 1;

    std::uint32_t links = 0;  // 0: all
    std::uint32_t number = 0;

    static LinkLimit of(std::uint32_t context) {
        if (context < limited) return {0, context};
        return {((context - limited) >> number_bits) + 1, context & number_mask};
    }
    // 0: the number is too large.
    static std::uint32_t context_of(std::uint32_t links, std::uint64_t number) {
        if (links == 0) return number < limited ? static_cast<std::uint32_t>(number) : 0;
        if (number > number_mask) return 0;
        return limited | (links - 1) << number_bits | static_cast<std::uint32_t>(number);
    }
};

}  // namespace weft
