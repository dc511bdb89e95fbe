// Copies bytes from one process to another through a shared ring: the baseline for the broadcast.
//
// One writer and one reader, each in its own process. No locks, no sleeping, no checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::bench {

class RingCopy {
  public:
    void write(std::span<const std::byte> from);
    void read(std::span<std::byte> into);

  private:
    static constexpr std::size_t chunk_bytes = 16 * 1024;
    static constexpr std::uint64_t slots = 64;  // 1 MiB in all, as the library has per peer

    alignas(128) std::atomic<std::uint64_t> written_{0};  // chunks so far
    alignas(128) std::atomic<std::uint64_t> read_{0};
    alignas(4096) std::byte data_[slots][chunk_bytes];
};

}  // namespace weft::bench
