#include "completer.h"

#include <algorithm>
#include <utility>

#include "failure.h"

namespace weft_torch {
namespace {

// How long the thread may sleep in Weft: an operation that is added meanwhile may have an earlier
// deadline than those that it knows. Without operations it then sleeps outside of Weft.
constexpr std::int64_t look_ns = 200'000'000;

}  // namespace

Completer& Completer::instance() {
    static Completer* const completer = new Completer;  // is used until the process ends
    return *completer;
}

void Completer::start() {
    if (!queue_) check(weft_completion_queue_create(&queue_), "weft: completion queue");
    if (!thread_.joinable()) {
        stops_ = false;
        thread_ = std::thread([this] { serve(); });
    }
}

std::uint64_t Completer::add(c10::intrusive_ptr<WeftWork> work,
                             const std::vector<weft_request>& requests, std::int64_t deadline_ns) {
    const std::lock_guard lock(mutex_);
    start();
    const std::uint64_t cookie = ++last_cookie_;
    const bool is_first = entries_.empty();
    entries_[cookie] = {std::move(work), requests.size(), deadline_ns};
    for (const weft_request request : requests) {
        const weft_status status = weft_request_notify(request, queue_, cookie);
        if (status == WEFT_OK) continue;
        const std::exception_ptr failure = failure_of(status, "weft: future");
        for (const weft_request marked : requests)
            (void)weft_request_notify(marked, WEFT_COMPLETION_QUEUE_NULL, 0);
        entries_.erase(cookie);
        std::rethrow_exception(failure);
    }
    if (is_first) added_.notify_one();
    return cookie;
}

bool Completer::take_back(std::uint64_t cookie, const std::vector<weft_request>& requests) {
    const std::lock_guard lock(mutex_);
    if (entries_.erase(cookie) == 0) return false;
    for (const weft_request request : requests)
        (void)weft_request_notify(request, WEFT_COMPLETION_QUEUE_NULL, 0);
    return true;
}

void Completer::stop() {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    stops_ = true;
    std::thread ending = std::move(thread_);
    weft_completion_queue queue = std::exchange(queue_, WEFT_COMPLETION_QUEUE_NULL);
    std::map<std::uint64_t, Entry> left = std::move(entries_);
    entries_.clear();
    lock.unlock();
    added_.notify_all();
    if (queue) (void)weft_completion_queue_free(&queue);  // this wakes the thread
    ending.join();
    // `left` ends here, without a lock: the last reference to a Work may be in it.
}

void Completer::serve() {
    std::unique_lock lock(mutex_);
    bool was_idle = false;
    while (!stops_) {
        if (was_idle && entries_.empty()) {
            added_.wait(lock, [this] { return stops_ || !entries_.empty(); });
            was_idle = false;
            continue;
        }
        const weft_completion_queue queue = queue_;
        const std::int64_t deadline_ns = next_look();
        lock.unlock();
        std::uint64_t cookie = 0;
        weft_status ended = WEFT_OK;
        const weft_status status = weft_completion_wait_until(queue, &cookie, &ended, deadline_ns);
        lock.lock();
        if (status == WEFT_OK) {
            note_completion(lock, cookie);
        } else if (status == WEFT_TIMED_OUT) {
            expire(lock);
            was_idle = entries_.empty();
        } else if (status != WEFT_INTERRUPTED) {
            return;  // the queue is gone
        }
    }
}

void Completer::note_completion(std::unique_lock<std::mutex>& lock, std::uint64_t cookie) {
    const auto at = entries_.find(cookie);
    if (at == entries_.end() || --at->second.pending > 0) return;
    c10::intrusive_ptr<WeftWork> work = std::move(at->second.work);
    entries_.erase(at);
    lock.unlock();
    work->complete_from_thread();
    work.reset();
    lock.lock();
}

void Completer::expire(std::unique_lock<std::mutex>& lock) {
    const std::int64_t now = now_ns();
    for (;;) {
        auto late = entries_.begin();
        while (late != entries_.end() && late->second.deadline_ns > now) ++late;
        if (late == entries_.end()) return;
        c10::intrusive_ptr<WeftWork> work = std::move(late->second.work);
        entries_.erase(late);
        lock.unlock();
        work->expire_from_thread();
        work.reset();
        lock.lock();
    }
}

std::int64_t Completer::next_look() const {
    std::int64_t earliest = now_ns() + look_ns;
    for (const auto& [cookie, entry] : entries_) earliest = std::min(earliest, entry.deadline_ns);
    return earliest;
}

}  // namespace weft_torch
