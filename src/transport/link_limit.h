// The number of a node's links that a communicator uses is part of its context, so that a rank
// knows it for messages that arrive before it has the communicator itself.
#pragma once

#include <cstdint>

#include "transport/transport.h"

namespace weft {

// Of a context. Contexts are of three disjoint kinds: numbers that ranks hand out one
// after the other; such numbers with a limit of links, in three more bits; and hashes, without a
// limit, of communicators that are made without messages (process/construct.h).
struct LinkLimit {
    static constexpr std::uint32_t links_max = 8;
    static constexpr unsigned number_bits = StreamId::context_bits - 5;
    static constexpr std::uint64_t hashed = std::uint64_t{1} << (StreamId::context_bits - 1);
    static constexpr std::uint64_t limited = hashed >> 1;
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;

    std::uint32_t links = 0;   // 0: all
    std::uint64_t number = 0;  // with a limit: the number that was handed out

    static LinkLimit of(std::uint64_t context) {
        if (context < limited || context >= hashed) return {0, context};
        return {static_cast<std::uint32_t>((context - limited) >> number_bits) + 1,
                context & number_mask};
    }
    // 0: the number is too large.
    static std::uint64_t context_of(std::uint32_t links, std::uint64_t number) {
        if (links == 0) return number < limited ? number : 0;
        if (number > number_mask) return 0;
        return limited | std::uint64_t{links - 1} << number_bits | number;
    }
    // Of a hash whose bits are all equally good.
    static std::uint64_t hashed_context(std::uint64_t hash) {
        return hashed | hash >> (64 - (StreamId::context_bits - 1));
    }
};

}  // namespace weft
