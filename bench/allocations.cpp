// Replaces operator new and delete in the program weft, and so in the library, which calls no other allocator. malloc is
// left alone: LD_PRELOAD may bring another one, as AddressSanitizer's runtime does. Thread-safe.
#include "bench/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// (The build sets it to 0 where this is a part of libweft.so, which must not allocate otherwise for its users.)
#ifndef WEFT_COUNTS_ALLOCATIONS
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WEFT_COUNTS_ALLOCATIONS 1
#else
#define WEFT_COUNTS_ALLOCATIONS 0
#endif
#endif

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

namespace weft::bench {

bool counts_allocations() { return WEFT_COUNTS_ALLOCATIONS; }

std::uint64_t allocations() { return count.load(std::memory_order_relaxed); }

}  // namespace weft::bench

#if WEFT_COUNTS_ALLOCATIONS

// Not inlined: the compiler would see new and free as a pair that does not belong together. (The other forms call these.)
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    count.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    count.fetch_add(1, std::memory_order_relaxed);
    const auto unit = static_cast<std::size_t>(alignment);
    if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

#endif
