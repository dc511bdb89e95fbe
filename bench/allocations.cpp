// Wraps glibc's allocator in the program weft. Thread-safe.
#include "bench/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WEFT_COUNTS_ALLOCATIONS 1
#else
#define WEFT_COUNTS_ALLOCATIONS 0
#endif

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

namespace weft::bench {

bool counts_allocations() { return WEFT_COUNTS_ALLOCATIONS; }

std::uint64_t allocations() { return count.load(std::memory_order_relaxed); }

}  // namespace weft::bench

#if WEFT_COUNTS_ALLOCATIONS

extern "C" {

// glibc's internal names of malloc and its relatives. Its free() takes what these return, so free()
// stays as it is.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(bytes);
}

void* calloc(std::size_t elements, std::size_t bytes) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return __libc_calloc(elements, bytes);
}

void* realloc(void* old, std::size_t bytes) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return __libc_realloc(old, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return __libc_memalign(alignment, bytes);
}
}

#endif
