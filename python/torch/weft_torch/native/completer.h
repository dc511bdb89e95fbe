// The thread that completes operations whose futures somebody has asked for. The first such
// operation starts it.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "common.h"
#include "work.h"

namespace weft_torch {

// Thread-safe. A Work's lock may be held while these functions are called; the thread holds no lock
// of its own while it completes a Work.
class Completer {
  public:
    // There is one, for good.
    static Completer& instance();

    // Returns the operation's cookie. Throws if Weft refuses.
    std::uint64_t add(c10::intrusive_ptr<WeftWork> work, const std::vector<weft_request>& requests,
                      std::int64_t deadline_ns);
    // False: the thread is completing it.
    bool take_back(std::uint64_t cookie, const std::vector<weft_request>& requests);
    // Ends the thread. Operations that it has not completed stay pending.
    void stop();

  private:
    struct Entry {
        c10::intrusive_ptr<WeftWork> work;
        std::size_t pending;  // requests
        std::int64_t deadline_ns;
    };

    void start();
    void serve();
    void note_completion(std::unique_lock<std::mutex>& lock, std::uint64_t cookie);
    void expire(std::unique_lock<std::mutex>& lock);
    std::int64_t next_look() const;

    std::mutex mutex_;
    std::condition_variable added_;
    std::map<std::uint64_t, Entry> entries_;  // by cookie
    std::uint64_t last_cookie_ = 0;
    weft_completion_queue queue_ = WEFT_COMPLETION_QUEUE_NULL;
    std::thread thread_;
    bool stops_ = false;
};

}  // namespace weft_torch
