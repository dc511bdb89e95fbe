// States of floating-point arithmetic that programs set: for tests that results do not depend on them.
#pragma once

#include <fenv.h>

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weft::test {

inline constexpr int float_states = 6;

// As programs do that were linked with -ffast-math.
inline void flush_subnormal_numbers() {
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    std::uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("msr fpcr, %0" : : "r"(control | std::uint64_t{1} << 24));
#endif
}

// Sets the default state, then state `number` of this thread; 0: the default.
inline void set_float_state(int number) {
    fesetenv(FE_DFL_ENV);
    switch (number) {
        case 1: fesetround(FE_UPWARD); break;
        case 2: fesetround(FE_DOWNWARD); break;
        case 3: fesetround(FE_TOWARDZERO); break;
        case 4: flush_subnormal_numbers(); break;
        case 5: feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW); break;
        default: break;
    }
}

// Everything that such a state consists of, flags included.
struct FloatState {
    std::uint64_t vector = 0;   // of float and double
    std::uint16_t control = 0;  // of long double on x86
    std::uint16_t status = 0;
    bool operator==(const FloatState&) const = default;
    bool has_equal_control(const FloatState& other) const {
#if defined(__x86_64__)
        constexpr std::uint64_t flags = 0x3f;
#else
        constexpr std::uint64_t flags = 0xffffffff;
#endif
        return ((vector ^ other.vector) & ~flags) == 0 && control == other.control;
    }
};
inline FloatState float_state() {
    FloatState state;
#if defined(__x86_64__)
    state.vector = _mm_getcsr();
    asm volatile("fnstcw %0\n\tfnstsw %1" : "=m"(state.control), "=m"(state.status));
#elif defined(__aarch64__)
    std::uint64_t flags;
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(state.vector), "=r"(flags));
    state.vector = state.vector << 32 | flags;
#else
    state.vector = static_cast<std::uint64_t>(fegetround()) << 32 |
                   static_cast<std::uint64_t>(fetestexcept(FE_ALL_EXCEPT));
#endif
    return state;
}

}  // namespace weft::test
