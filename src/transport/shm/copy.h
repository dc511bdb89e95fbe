// Copying in and out of rings.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft::shm {

// For more than 64 bytes. The C library's memcpy turns to `rep movsb` at 2 KiB, which is slower by
// 3 to 14 times on some processors when the two places are differently aligned, as a message and
// its record are; this loop does not care.
void copy_long(std::byte* to, const std::byte* from, std::size_t n);

// As copy_long(), with streaming stores where the processor has them: they go to memory without
// fetching the lines first, from wherever they are. `to` lies on a multiple of 16 bytes.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t n);
extern const bool has_streaming_stores;

// Messages are mostly small, and a call would cost as much as their copy: of up to 64 bytes, the
// first half and the last half are copied, which may overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t n) {
    auto both_ends = [=](auto width) {
        std::memcpy(to, from, width);
        std::memcpy(to + n - width, from + n - width, width);
    };
    if (n == 8) {
        std::memcpy(to, from, 8);
    } else if (n > 64) {
        copy_long(to, from, n);
    } else if (n > 32) {
        both_ends(std::integral_constant<std::size_t, 32>{});
    } else if (n >= 16) {
        both_ends(std::integral_constant<std::size_t, 16>{});
    } else if (n > 0) {
        std::memcpy(to, from, n);
    }
}

}  // namespace weft::shm
