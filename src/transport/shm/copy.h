// Copying into and out of rings.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft::shm {

// For more than 64 bytes. From 2 KiB on the C library's memcpy uses `rep movsb`, which on some
// processors is 3 to 14 times slower when source and destination are aligned differently, as a
// message and its record are. This loop is not.
void copy_long(std::byte* to, const std::byte* from, std::size_t n);

// As copy_long(), by the processor's string instruction, where it has one that copies.
void copy_string(std::byte* to, const std::byte* from, std::size_t n);

// As copy_long(), with streaming stores where the processor has them: they go to memory without
// fetching the lines first. REQUIRES: `to` is a multiple of 16.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t n);
extern const bool has_streaming_stores;

// Inline for small messages, where a call would cost as much as the copy. Up to 64 bytes: copies
// the first and the last half, which may overlap.
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
