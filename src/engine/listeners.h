// Who is told, while the program is outside of the library, what has happened inside: completion
// queues with a descriptor, and a thread that asked for a signal. All are registered here. (The
// ends of single runs are told by the executor: Run::mark, Run::waiter.)
//
// Thread safety: none; the engine's lock covers it.
#pragma once

#include <vector>

namespace weft {

class OutsideListener {
  public:
    // Called with the lock held, after runs have ended and before the lock is given up; also
    // when nothing has happened. `needs_program`: only threads of the program's can go on.
    virtual void tell(bool needs_program) = 0;

  protected:
    ~OutsideListener() = default;
};

class Listeners {
  public:
    // May throw; then nothing has happened.
    void add(OutsideListener& listener) { listeners_.push_back(&listener); }
    void remove(OutsideListener& listener) { std::erase(listeners_, &listener); }
    void tell(bool needs_program) {
        for (OutsideListener* listener : listeners_) listener->tell(needs_program);
    }

    // This thread of the operating system gets this signal from now on; 0: no thread gets any.
    void set_signal(int signal, int thread) {
        signal_ = signal;
        thread_ = signal == 0 ? 0 : thread;
    }
    int signal_number() const { return signal_; }
    int signalled_thread() const { return thread_; }  // 0: none
    // Something has happened in another thread than that one, which has taken what had come.
    void signal() const;

    bool is_empty() const { return listeners_.empty() && thread_ == 0; }

  private:
    int thread_ = 0;  // of the operating system
    int signal_ = 0;
    std::vector<OutsideListener*> listeners_;
};

}  // namespace weft
