// The loops for long copies.
#include "transport/shm/copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdint>

#include "base/assert.h"

namespace weft::shm {

void copy_long(std::byte* to, const std::byte* from, std::size_t n) {
    constexpr std::size_t block = 64;
    const std::size_t last = n - block;
    // A copy of constant size is a few vector moves, not a call.
    for (std::size_t i = 0; i < last; i += block) std::memcpy(to + i, from + i, block);
    std::memcpy(to + last, from + last, block);
}

void copy_string(std::byte* to, const std::byte* from, std::size_t n) {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
    std::memcpy(to, from, n);
#endif
}

#if defined(__SSE2__)

const bool has_streaming_stores = true;

// Whole lines only: a line that both kinds of stores write is fetched after all.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t n) {
    constexpr std::size_t line = 64;
    WEFT_ASSERT(reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0);
    const std::size_t before = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    if (n == 0) return;  // `from` may be null
    if (n < before + line) return std::memcpy(to, from, n), void();
    std::memcpy(to, from, before);
    std::size_t i = before;
    for (; i + line <= n; i += line) {
        for (std::size_t part = 0; part < line; part += sizeof(__m128i)) {
            const auto* source = reinterpret_cast<const __m128i*>(from + i + part);
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + part), _mm_loadu_si128(source));
        }
    }
    std::memcpy(to + i, from + i, n - i);
    _mm_sfence();  // later stores must not be seen before this
}

#else

const bool has_streaming_stores = false;

void copy_streaming(std::byte* to, const std::byte* from, std::size_t n) {
    std::memcpy(to, from, n);
}

#endif

}  // namespace weft::shm
