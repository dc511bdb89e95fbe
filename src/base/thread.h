// A thread of the library. Functions of the program may run in it: it has a stack as large as the
// program's own threads, and the default state of floating-point arithmetic. It takes no signals,
// which belong to the program's.
//
// Thread safety: none.
#pragma once

#include <pthread.h>

#include <functional>

namespace weft {

class Thread {
  public:
    Thread() = default;
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    // REQUIRES: joined or detached.
    ~Thread();

    // 0: it runs; otherwise the errno with which it was refused. May throw std::bad_alloc: it does
    // not run. REQUIRES: not joinable.
    [[nodiscard]] int start(std::function<void()> main);
    bool joinable() const { return is_started_; }
    void join();
    void detach();

  private:
    pthread_t thread_{};
    bool is_started_ = false;
};

// Runs the function in a thread that then ends. Returns as Thread::start().
[[nodiscard]] int run_in_thread(std::function<void()> main);

}  // namespace weft
