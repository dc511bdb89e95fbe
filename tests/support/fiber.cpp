#include "support/fiber.h"

#include "base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weft::test {

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(new char[stack_bytes]) {
    WEFT_ASSERT(getcontext(&inside_) == 0);
    inside_.uc_stack.ss_sp = stack_.get();
    inside_.uc_stack.ss_size = stack_bytes;
    inside_.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(main), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#if defined(__SANITIZE_THREAD__)
    inside_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
    WEFT_ASSERT(ended_);
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(inside_fiber_);
#endif
}

void Fiber::main(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &self->outside_bottom_, &self->outside_bytes_);
#endif
    self->body_();
    self->ended_ = true;
    self->pause();
}

void Fiber::resume() {
    WEFT_ASSERT(!ended_);
#if defined(__SANITIZE_ADDRESS__)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, stack_.get(), stack_bytes);
#elif defined(__SANITIZE_THREAD__)
    outside_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inside_fiber_, 0);
#endif
    swapcontext(&outside_, &inside_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::pause() {
#if defined(__SANITIZE_ADDRESS__)
    // A fiber that has ended gives its fake stack back.
    __sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack_, outside_bottom_,
                                   outside_bytes_);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(outside_fiber_, 0);
#endif
    swapcontext(&inside_, &outside_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, &outside_bottom_, &outside_bytes_);
#endif
}

}  // namespace weft::test
