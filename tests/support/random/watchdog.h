// Ends this process, with a sentence on where its ranks are, if none makes progress.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/random/rank_run.h"

namespace weft::test::random {

class Watchdog {
  public:
    // `what` is printed in front.
    Watchdog(std::vector<const RankRun*> runs, int patience_s, std::string what)
        : runs_(std::move(runs)),
          patience_(patience_s),
          what_(std::move(what)),
          thread_([this] { watch(); }) {}
    ~Watchdog() {
        {
            std::lock_guard<std::mutex> hold(mutex_);
            over_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    long steps() const {
        long sum = 0;
        for (const RankRun* run : runs_) sum += run->steps_done();
        return sum;
    }

    void watch() {
        std::unique_lock<std::mutex> hold(mutex_);
        for (long before = -1; before != steps();) {
            before = steps();
            if (wake_.wait_for(hold, patience_, [this] { return over_; })) return;
        }
        std::fprintf(stderr, "%s hangs:\n", what_.c_str());
        for (const RankRun* run : runs_) std::fprintf(stderr, "  %s\n", run->where().c_str());
        std::fflush(stderr);
        _exit(4);
    }

    std::vector<const RankRun*> runs_;
    std::chrono::seconds patience_;
    std::string what_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool over_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace weft::test::random
