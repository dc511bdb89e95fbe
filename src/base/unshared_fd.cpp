// One bit per descriptor; descriptors above the limit stay open in children.
#include "base/unshared_fd.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft {
namespace {

constexpr std::size_t descriptors_watched = std::size_t{1} << 20;  // more than usual limits
constexpr std::size_t word_bits = 64;

// Pages that are never written take no memory.
std::atomic<std::uint64_t> words[descriptors_watched / word_bits];

}  // namespace

void UnsharedFd::note(bool is_open) const {
    if (!fd_ || static_cast<std::size_t>(fd_.get()) >= descriptors_watched) return;
    const auto number = static_cast<std::size_t>(fd_.get());
    const std::uint64_t bit = std::uint64_t{1} << number % word_bits;
    if (is_open)
        words[number / word_bits].fetch_or(bit, std::memory_order_relaxed);
    else
        words[number / word_bits].fetch_and(~bit, std::memory_order_relaxed);
}

void UnsharedFd::close_all_in_child() {
    for (std::size_t i = 0; i < descriptors_watched / word_bits; ++i) {
        std::uint64_t word = words[i].load();
        if (word != 0) words[i].store(0);
        for (; word != 0; word &= word - 1)
            ::close(static_cast<int>(i * word_bits) + std::countr_zero(word));
    }
}

}  // namespace weft
