// Copies through the ring.
#include "bench/micro/ring_copy.h"

#include <algorithm>
#include <cstring>

namespace weft::bench {

void RingCopy::write(std::span<const std::byte> from) {
    std::uint64_t chunk = written_.load(std::memory_order_relaxed);
    for (; !from.empty(); ++chunk) {
        while (chunk - read_.load(std::memory_order_acquire) == slots) {
        }
        const std::size_t bytes = std::min(from.size(), chunk_bytes);
        std::memcpy(data_[chunk % slots], from.data(), bytes);
        written_.store(chunk + 1, std::memory_order_release);
        from = from.subspan(bytes);
    }
}

void RingCopy::read(std::span<std::byte> into) {
    std::uint64_t chunk = read_.load(std::memory_order_relaxed);
    for (; !into.empty(); ++chunk) {
        while (written_.load(std::memory_order_acquire) == chunk) {
        }
        const std::size_t bytes = std::min(into.size(), chunk_bytes);
        std::memcpy(into.data(), data_[chunk % slots], bytes);
        read_.store(chunk + 1, std::memory_order_release);
        into = into.subspan(bytes);
    }
}

}  // namespace weft::bench
