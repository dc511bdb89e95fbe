// Operator new that fails where the injector says so. Include it in one file of a program: it replaces
// operator new and delete of the whole program, and so of the library.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "support/injector.h"

namespace weft::test {

inline void* allocate(std::size_t bytes, std::size_t alignment = 0) noexcept {
    if (Injector::fails()) return nullptr;
    if (alignment == 0) return std::malloc(bytes > 0 ? bytes : 1);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

inline void* or_throw(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace weft::test

// (The array forms and the other forms of delete call these.)
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    return weft::test::or_throw(weft::test::allocate(bytes));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return weft::test::allocate(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return weft::test::or_throw(weft::test::allocate(bytes, static_cast<std::size_t>(alignment)));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
    return weft::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
