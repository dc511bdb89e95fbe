#include "engine/completion_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/cancellation.h"

namespace weft {

void CompletionQueue::MarkedRuns::append(Run& run) {
    run.mark.next = nullptr;
    run.mark.previous = last;
    (last ? last->mark.next : first) = &run;
    last = &run;
}

void CompletionQueue::MarkedRuns::remove(Run& run) {
    (run.mark.previous ? run.mark.previous->mark.next : first) = run.mark.next;
    (run.mark.next ? run.mark.next->mark.previous : last) = run.mark.previous;
}

CompletionQueue::~CompletionQueue() {
    while (pending_.first) remove(*pending_.first);
    while (ended_.first) remove(*ended_.first);
    if (has_descriptor()) engine_.remove_listener(*this);
}

Result<int> CompletionQueue::descriptor() {
    if (!engine_.obtain_thread()) {
        return failure(
            WEFT_REFUSED_UNSUPPORTED,
            "engine %s advances operations only inside Weft's calls, and nothing would make "
            "the descriptor readable; expected another engine, or "
            "weft_completion_wait_until",
            traits(engine_.kind()).name);
    }
    if (!has_descriptor()) {
        Fd opened(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (!opened)
            return failure(WEFT_REFUSED_MEMORY, "no descriptor for the queue: %s", strerror(errno));
        engine_.add_listener(*this);
        descriptor_ = UnsharedFd(std::move(opened));
        engine_.await_outside(static_cast<std::int32_t>(pending_count_));
    }
    return descriptor_.get();
}

void CompletionQueue::mark(Run& run, std::uint64_t cookie) {
    run.mark.listener = this;
    run.mark.cookie = cookie;
    if (run.is_done()) {
        ended_.append(run);
        return engine_.wake_waiters();
    }
    pending_.append(run);
    ++pending_count_;
    if (has_descriptor()) engine_.await_outside(1);
}

void CompletionQueue::unmark(Run& run) {
    // Only queues listen to runs.
    if (run.mark.listener != nullptr) static_cast<CompletionQueue*>(run.mark.listener)->remove(run);
}

void CompletionQueue::remove(Run& run) {
    run.mark.listener = nullptr;
    if (run.is_done()) return ended_.remove(run);
    pending_.remove(run);
    --pending_count_;
    if (has_descriptor()) engine_.await_outside(-1);
}

void CompletionQueue::run_ended(Run& run) {
    pending_.remove(run);
    --pending_count_;
    if (has_descriptor()) engine_.await_outside(-1);
    ended_.append(run);
}

void CompletionQueue::tell(bool needs_program) {
    if (is_readable_ || (is_empty() && !(needs_program && pending_count_ > 0))) return;
    is_readable_ = true;
    const Uncancelled uncancelled;
    const std::uint64_t one = 1;
    const int saved = errno;
    [[maybe_unused]] const ssize_t n = write(descriptor_.get(), &one, sizeof one);
    errno = saved;
}

Run* CompletionQueue::take(std::uint64_t& cookie) {
    if (Run* run = ended_.first) {
        cookie = run->mark.cookie;
        remove(*run);
        return run;
    }
    if (std::exchange(is_readable_, false)) {
        const Uncancelled uncancelled;
        std::uint64_t count;
        [[maybe_unused]] const ssize_t n = read(descriptor_.get(), &count, sizeof count);
    }
    return nullptr;
}

}  // namespace weft
