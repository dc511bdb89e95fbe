// A state of floating-point arithmetic, for a scope: rounds in the given direction, keeps subnormal
// numbers, traps nothing. Results then do not depend on the thread that combines. Afterwards the
// thread's state is as before, with its exception flags.
//
// Cost: registers are read, and written only if they differ.
#pragma once

#include <cstdint>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace weft {

// As the processor encodes it; nearest is 0.
enum class Rounding : std::uint8_t {};
inline constexpr Rounding to_nearest{};
inline constexpr unsigned roundings = 4;

// In all of these, "memory" keeps the loads of operands behind, and the stores of results before.
#if defined(__x86_64__)

// Of float and double in compiled code.
class VectorScope {
  public:
    explicit VectorScope(Rounding rounding) : before_(read()) {
        const std::uint32_t wanted = initial | static_cast<std::uint32_t>(rounding) << 13;
        if ((before_ & ~flags) != wanted) write(wanted);
    }
    ~VectorScope() {
        if (read() != before_) write(before_);
    }
    VectorScope(const VectorScope&) = delete;
    VectorScope& operator=(const VectorScope&) = delete;

    static std::uint32_t read() {
        std::uint32_t value;
        asm volatile("stmxcsr %0" : "=m"(value) : : "memory");
        return value;
    }

  private:
    static constexpr std::uint32_t flags = 0x3f;
    static constexpr std::uint32_t initial = 0x1f80;

    static void write(std::uint32_t value) { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }

    std::uint32_t before_;
};

// Of this thread.
inline Rounding rounding_now() { return static_cast<Rounding>(VectorScope::read() >> 13 & 3); }

// Of long double as well.
class FloatScope {
  public:
    explicit FloatScope(Rounding rounding = to_nearest) : vector_(rounding), before_(read()) {
        const auto wanted =
            static_cast<std::uint16_t>(initial | static_cast<unsigned>(rounding) << 10);
        if (((before_.control ^ wanted) & control_bits) != 0) restore({wanted, 0});
    }
    ~FloatScope() {
        const State now = read();
        if (now.control != before_.control || ((now.status ^ before_.status) & flags) != 0)
            restore(before_);
    }
    FloatScope(const FloatScope&) = delete;
    FloatScope& operator=(const FloatScope&) = delete;

  private:
    struct State {
        std::uint16_t control;
        std::uint16_t status;
    };
    // What FSTENV stores.
    struct Environment {
        std::uint32_t control;
        std::uint32_t status;
        std::uint32_t others[5];
    };
    static constexpr std::uint16_t control_bits = 0x0f3f;  // rounding, precision, masks
    static constexpr std::uint16_t initial = 0x037f;
    static constexpr std::uint16_t flags = 0x7f;
    static constexpr std::uint16_t pending = 0x8080;  // a flag is set that is not masked

    static State read() {
        State state;
        asm volatile("fnstcw %0\n\tfnstsw %1"
                     : "=m"(state.control), "=m"(state.status)
                     :
                     : "memory");
        return state;
    }
    // A flag that is not masked must not trap here: FLDCW would.
    static void restore(State state) {
        Environment all;
        asm volatile("fnstenv %0" : "=m"(all) : : "memory");
        all.control = (all.control & 0xffff0000u) | state.control;
        all.status = (all.status & ~std::uint32_t{flags | pending}) |
                     (state.status & std::uint32_t{flags | pending});
        asm volatile("fldenv %0" : : "m"(all) : "memory");
    }

    VectorScope vector_;
    State before_;
};

#elif defined(__aarch64__)

class FloatScope {
  public:
    explicit FloatScope(Rounding rounding = to_nearest) {
        asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(flags_) : : "memory");
        const std::uint64_t wanted = static_cast<std::uint64_t>(rounding) << 22;
        if (control_ != wanted) asm volatile("msr fpcr, %0" : : "r"(wanted) : "memory");
    }
    ~FloatScope() {
        std::uint64_t control;
        std::uint64_t flags;
        asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags) : : "memory");
        if (control != control_) asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
        if (flags != flags_) asm volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
    }
    FloatScope(const FloatScope&) = delete;
    FloatScope& operator=(const FloatScope&) = delete;

  private:
    std::uint64_t control_;
    std::uint64_t flags_;
};
using VectorScope = FloatScope;

inline Rounding rounding_now() {
    std::uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control) : : "memory");
    return static_cast<Rounding>(control >> 22 & 3);
}

#else

inline constexpr int directions[roundings] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

class FloatScope {
  public:
    explicit FloatScope(Rounding rounding = to_nearest) {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
        std::fesetround(directions[static_cast<unsigned>(rounding)]);
    }
    ~FloatScope() { std::fesetenv(&before_); }
    FloatScope(const FloatScope&) = delete;
    FloatScope& operator=(const FloatScope&) = delete;

  private:
    std::fenv_t before_;
};
using VectorScope = FloatScope;

inline Rounding rounding_now() {
    unsigned rounding = 0;
    while (rounding + 1 < roundings && directions[rounding] != std::fegetround()) ++rounding;
    return static_cast<Rounding>(rounding);
}

#endif

}  // namespace weft
