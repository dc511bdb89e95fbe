// The default state of floating-point arithmetic, for a scope: rounds to nearest, keeps subnormal
// numbers, traps nothing. Results then depend neither on the thread that combines nor on the state
// that the program has set there, which may differ between ranks. Afterwards the thread's state is
// as before, with its exception flags.
//
// Cost: registers are read, and written only if they differ.
#pragma once

#if defined(__x86_64__) || defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace weft {

// In all of these, "memory" keeps the loads of operands behind, and the stores of results before.
#if defined(__x86_64__)

// Of float and double in compiled code.
class DefaultVectorState {
  public:
    DefaultVectorState() : before_(read()) {
        if ((before_ & ~flags) != initial) write(initial);
    }
    ~DefaultVectorState() {
        if (read() != before_) write(before_);
    }
    DefaultVectorState(const DefaultVectorState&) = delete;
    DefaultVectorState& operator=(const DefaultVectorState&) = delete;

  private:
    static constexpr std::uint32_t flags = 0x3f;
    static constexpr std::uint32_t initial = 0x1f80;

    static std::uint32_t read() {
        std::uint32_t value;
        asm volatile("stmxcsr %0" : "=m"(value) : : "memory");
        return value;
    }
    static void write(std::uint32_t value) { asm volatile("ldmxcsr %0" : : "m"(value) : "memory"); }

    std::uint32_t before_;
};

// Of long double as well.
class DefaultFloatState {
  public:
    DefaultFloatState() : before_(read()) {
        if (((before_.control ^ initial) & control_bits) != 0) restore({initial, 0});
    }
    ~DefaultFloatState() {
        const State now = read();
        if (now.control != before_.control || ((now.status ^ before_.status) & flags) != 0)
            restore(before_);
    }
    DefaultFloatState(const DefaultFloatState&) = delete;
    DefaultFloatState& operator=(const DefaultFloatState&) = delete;

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

    DefaultVectorState vector_;
    State before_;
};

#elif defined(__aarch64__)

class DefaultFloatState {
  public:
    DefaultFloatState() {
        asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(flags_) : : "memory");
        if (control_ != 0) asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}) : "memory");
    }
    ~DefaultFloatState() {
        std::uint64_t control;
        std::uint64_t flags;
        asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags) : : "memory");
        if (control != control_) asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
        if (flags != flags_) asm volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
    }
    DefaultFloatState(const DefaultFloatState&) = delete;
    DefaultFloatState& operator=(const DefaultFloatState&) = delete;

  private:
    std::uint64_t control_;
    std::uint64_t flags_;
};
using DefaultVectorState = DefaultFloatState;

#else

class DefaultFloatState {
  public:
    DefaultFloatState() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatState() { std::fesetenv(&before_); }
    DefaultFloatState(const DefaultFloatState&) = delete;
    DefaultFloatState& operator=(const DefaultFloatState&) = delete;

  private:
    std::fenv_t before_;
};
using DefaultVectorState = DefaultFloatState;

#endif

}  // namespace weft
