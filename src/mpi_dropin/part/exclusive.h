// Exclusive access to what several threads of the program may use at the same time; locks only with
// MPI_THREAD_MULTIPLE. Never held while the MPI or Weft is called: both may call back.
#pragma once

#include <mutex>

namespace weft::dropin {

class Exclusive {
  public:
    Exclusive() {
        if (has_several_threads) mutex.lock();
    }
    ~Exclusive() {
        if (has_several_threads) mutex.unlock();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

    inline static bool has_several_threads = false;  // set once, by Init

  private:
    inline static std::mutex mutex;
};

}  // namespace weft::dropin
