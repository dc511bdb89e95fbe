#include "engine/parking.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>

#include "base/assert.h"
#include "base/cancellation.h"

namespace weft {
namespace {

// Sleepers park in ppoll, followers on a condition variable.
class ThreadParking final : public Parking {
  public:
    ThreadParking() {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&followers_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    ~ThreadParking() override { pthread_cond_destroy(&followers_); }
    ThreadParking(const ThreadParking&) = delete;
    ThreadParking& operator=(const ThreadParking&) = delete;

    int error() const override { return waiter_.error() != 0 ? waiter_.error() : thread_.error(); }

    Woken park(Sleeper sleeper, std::span<const int> descriptors,
               std::int64_t timeout_ns) override {
        pollfd polled[8];
        WEFT_ASSERT(descriptors.size() < std::size(polled));
        polled[0] = {wake(sleeper).fd(), POLLIN, 0};
        for (std::size_t i = 0; i < descriptors.size(); ++i) {
            polled[i + 1] = {descriptors[i], POLLIN, 0};
        }
        const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
        const int ready = ppoll(polled, descriptors.size() + 1,
                                timeout_ns == forever ? nullptr : &timeout, nullptr);
        if (ready <= 0) return {};
        const bool by_unpark = polled[0].revents != 0;
        return {by_unpark, ready > by_unpark};
    }
    void unpark(Sleeper sleeper) override { wake(sleeper).signal(); }
    void acknowledge(Sleeper sleeper) override { wake(sleeper).clear(); }

    std::uint64_t ticket() override {
        std::lock_guard<std::mutex> guard(mutex_);
        return unparks_;
    }
    void park_follower(std::uint64_t ticket, std::int64_t deadline_ns) override {
        const std::lock_guard<std::mutex> guard(mutex_);
        // (std::condition_variable would end the process if the thread is cancelled: its waits are
        // noexcept.)
        const timespec deadline{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
        int error = 0;
        while (unparks_ == ticket && error != ETIMEDOUT) {
            error = deadline_ns == forever
                        ? pthread_cond_wait(&followers_, mutex_.native_handle())
                        : pthread_cond_timedwait(&followers_, mutex_.native_handle(), &deadline);
        }
    }
    void unpark_followers() override {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            ++unparks_;
        }
        pthread_cond_broadcast(&followers_);
    }

    void yield() override { sched_yield(); }

  private:
    const Wake& wake(Sleeper sleeper) const {
        WEFT_ASSERT(sleeper != Sleeper::none);
        return sleeper == Sleeper::waiter ? waiter_ : thread_;
    }

    Wake waiter_;
    Wake thread_;
    std::mutex mutex_;
    pthread_cond_t followers_;
    std::uint64_t unparks_ = 0;  // of followers
};

}  // namespace

std::unique_ptr<Parking> thread_parking() { return std::make_unique<ThreadParking>(); }

Wake::Wake() : fd_(Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))), error_(fd_ ? 0 : errno) {}

void Wake::signal() const {
    const Uncancelled uncancelled;
    int saved = errno;
    std::uint64_t one = 1;
    // Fails only when the counter is full; then it is already readable.
    [[maybe_unused]] ssize_t n = write(fd_.get(), &one, sizeof one);
    errno = saved;
}

void Wake::clear() const {
    const Uncancelled uncancelled;
    std::uint64_t count;
    [[maybe_unused]] ssize_t n = read(fd_.get(), &count, sizeof count);
}

}  // namespace weft
