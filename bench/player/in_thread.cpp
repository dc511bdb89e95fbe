// The blocking call, made by a thread: what LibNBC's authors rejected. A start hands it over and a
// wait waits for it, both with a condition variable.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "bench/player/players.h"

namespace weft::bench {
namespace {

class InThread final : public Player {
  public:
    explicit InThread(std::unique_ptr<Player> caller)
        : caller_(std::move(caller)), thread_([this] { run(); }) {}
    ~InThread() override {
        {
            const std::lock_guard lock(mutex_);
            has_ended_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    std::string absence(const Collective& c, const Job& job) const override {
        return caller_->absence(c, job);
    }
    void enter() override { caller_->enter(); }
    void leave() override { caller_->leave(); }
    void start(const Collective& c, Case& k) override {
        {
            const std::lock_guard lock(mutex_);
            collective_ = &c;
            case_ = &k;
            is_done_.store(false, std::memory_order_relaxed);
        }
        changed_.notify_all();
    }
    bool test() override { return is_done_.load(std::memory_order_acquire); }
    void wait() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return test(); });
    }
    void barrier() override { caller_->barrier(); }
    double unexpected_messages() const override { return caller_->unexpected_messages(); }
    Job job(const Job& world) const override { return caller_->job(world); }

  private:
    void run() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return has_ended_ || !test(); });
            if (has_ended_) return;
            lock.unlock();
            caller_->call(*collective_, *case_);
            lock.lock();
            is_done_.store(true, std::memory_order_release);
            changed_.notify_all();
        }
    }

    const std::unique_ptr<Player> caller_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const Collective* collective_ = nullptr;
    Case* case_ = nullptr;
    std::atomic<bool> is_done_ = true;
    bool has_ended_ = false;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Player> in_thread(std::unique_ptr<Player> caller) {
    return std::make_unique<InThread>(std::move(caller));
}

}  // namespace weft::bench
