// The protocol between a rank and its launcher, over the socket WEFT_STARTUP_FD.
//
// An exchange, in the byte order of the machine both run on:
//   rank to launcher    WireSize n, then the n bytes of its card
//   launcher to rank    once all have asked: WireAnswer::cards, the JobKey, then by rank WireSize n
//                       and n bytes
//                    or WireAnswer::rank_ended, then WireSize: the first rank that ended
// A rank may do several exchanges; its k-th matches the k-th of every other rank. The key is always
// the same.
#pragma once

#include <cstdint>

namespace weft {

using WireSize = std::uint32_t;

enum class WireAnswer : std::uint32_t { cards = 0x57454654, rank_ended = 0x57454645 };

inline constexpr WireSize wire_card_bytes_max = 1u << 20;
inline constexpr WireSize wire_ranks_max = 1u << 16;

}  // namespace weft
