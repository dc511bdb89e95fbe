// A function that can pause. Several take turns in one thread, in a chosen order, so that blocking
// code runs deterministically.
//
// Thread safety: none; a fiber is resumed by the thread that made it.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>

namespace weft::test {

class Fiber {
  public:
    explicit Fiber(std::function<void()> body);
    ~Fiber();  // REQUIRES: it has ended
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    bool has_ended() const { return ended_; }

    // Runs the body from where it paused until it pauses again or ends.
    void resume();
    // In the body: returns to the caller of resume().
    void pause();

  private:
    static constexpr std::size_t stack_bytes = 512 * 1024;

    static void main(unsigned high, unsigned low);

    std::function<void()> body_;
    std::unique_ptr<char[]> stack_;
    ucontext_t inside_{};
    ucontext_t outside_{};
    bool ended_ = false;
    // What sanitizers need to know about a change of stacks.
    void* fake_stack_ = nullptr;
    const void* outside_bottom_ = nullptr;
    std::size_t outside_bytes_ = 0;
    void* inside_fiber_ = nullptr;
    void* outside_fiber_ = nullptr;
};

}  // namespace weft::test
