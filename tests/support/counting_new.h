// Counts allocations. Include it in one file of a program: it replaces operator new and delete of the
// whole program, and so of the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace weft::test {

inline thread_local bool counting = false;  // whether this thread's allocations count
inline std::atomic<long> allocations{0};
inline std::atomic<long> living{0};  // allocated by any thread, and not freed

}  // namespace weft::test

// Not inlined: the compiler would see new and free as a pair that does not belong together. (The other forms
// but the aligned ones call these.)
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    if (weft::test::counting) ++weft::test::allocations;
    void* memory = std::malloc(bytes > 0 ? bytes : 1);
    if (memory) ++weft::test::living;
    return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    if (void* memory = operator new(bytes, std::nothrow)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    if (memory) --weft::test::living;
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}
