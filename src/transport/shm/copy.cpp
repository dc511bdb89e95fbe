// The loop for long copies.
#include "transport/shm/copy.h"

namespace weft::shm {

void copy_long(std::byte* to, const std::byte* from, std::size_t n) {
    constexpr std::size_t block = 64;
    const std::size_t last = n - block;
    // A copy of constant size is a few vector moves, not a call.
    for (std::size_t i = 0; i < last; i += block) std::memcpy(to + i, from + i, block);
    std::memcpy(to + last, from + last, block);
}

}  // namespace weft::shm
