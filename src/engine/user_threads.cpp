#include "engine/user_threads.h"

#include <algorithm>

#include "base/assert.h"
#include "base/clock.h"
#include "run/executor.h"

namespace weft {
namespace {

constexpr std::int64_t no_deadline_ns = std::numeric_limits<std::int64_t>::max();

// A look in vain is followed by none for so many times as long, but not for longer than the most: a
// look that lasted because another process ran says nothing.
constexpr std::uint64_t pause_factor = 15;
constexpr std::uint64_t pause_max_ticks = 60'000;

}  // namespace

// --- One wait ------------------------------------------------------------------------------------

void SuspendedWait::WaitList::append(SuspendedWait& wait) {
    wait.list_ = this;
    wait.next_ = nullptr;
    wait.previous_ = last;
    (last ? last->next_ : first) = &wait;
    last = &wait;
}

void SuspendedWait::leave_list() {
    (previous_ ? previous_->next_ : list_->first) = next_;
    (next_ ? next_->previous_ : list_->last) = previous_;
}

// In any thread that drives.
void SuspendedWait::run_ended(Run& run) {
    run.waiter = nullptr;
    leave_list();
    threads_.ended_.append(*this);
}

// --- All of a scheduler --------------------------------------------------------------------------

void UserThreads::begin(SuspendedWait& wait) {
    wait.thread_ = current();
    // (Others may wait for the same run.)
    Run* const run = wait.aim_.run;
    if (run != nullptr && !run->is_done() && run->waiter == nullptr) {
        run->waiter = &wait;
        for_runs_.append(wait);
    } else {
        for_any_.append(wait);
    }
    ++waits_;
    interruptible_ += wait.aim_.is_interruptible;
    deadline_ns_ = std::min(deadline_ns_, wait.aim_.deadline_ns);
}

void UserThreads::resume(SuspendedWait& wait) {
    if (wait.list_ == &for_runs_) wait.aim_.run->waiter = nullptr;
    wait.leave_list();
    --waits_;
    interruptible_ -= wait.aim_.is_interruptible;
    scheduler_.resume(scheduler_.state, wait.thread_);
}

bool UserThreads::look(std::uint64_t happened) {
    const std::uint32_t before = waits_;
    while (ended_.first) resume(*ended_.first);
    if (happened != happened_) {
        happened_ = happened;
        for (SuspendedWait* wait = for_any_.first; wait;) {
            SuspendedWait& looked_at = *wait;
            wait = wait->next_;
            if (looked_at.aim_.done(looked_at.aim_.context)) resume(looked_at);
        }
    }
    if (deadline_ns_ != no_deadline_ns && now_ns() >= deadline_ns_) expire();
    return waits_ != before;
}

void UserThreads::expire() {
    const std::int64_t now = now_ns();
    deadline_ns_ = no_deadline_ns;
    for (const SuspendedWait::WaitList* list : {&for_runs_, &for_any_}) {
        for (SuspendedWait* wait = list->first; wait;) {
            SuspendedWait& looked_at = *wait;
            wait = wait->next_;
            if (looked_at.aim_.deadline_ns > now)
                deadline_ns_ = std::min(deadline_ns_, looked_at.aim_.deadline_ns);
            else
                resume(looked_at);
        }
    }
}

void UserThreads::interrupt() {
    for (const SuspendedWait::WaitList* list : {&for_any_, &for_runs_, &ended_}) {
        for (SuspendedWait* wait = list->first; wait; wait = wait->next_) {
            if (!wait->aim_.is_interruptible) continue;
            wait->was_interrupted_ = true;
            return resume(*wait);
        }
    }
    WEFT_ASSERT(!"nothing can be interrupted");
}

void UserThreads::take(FunctionCall& call) {
    call.next = nullptr;
    (last_function_ ? last_function_->next : first_function_) = &call;
    last_function_ = &call;
}

void UserThreads::drop(FunctionCall& call) {
    FunctionCall* previous = nullptr;
    for (FunctionCall* c = first_function_; c != &call; c = c->next) previous = c;
    (previous ? previous->next : first_function_) = call.next;
    if (last_function_ == &call) last_function_ = previous;
}

bool UserThreads::begin(FunctionCall& call) {
    const auto perform = [](void* c) {
        auto& performed = *static_cast<FunctionCall*>(c);
        performed.executor->perform(performed);
    };
    if (!scheduler_.spawn(scheduler_.state, perform, &call)) return false;
    drop(call);
    return true;
}

void UserThreads::looked_in_vain(std::uint64_t begin_ticks, std::uint64_t end_ticks) {
    next_look_ticks_ =
        end_ticks + std::min((end_ticks - begin_ticks) * pause_factor, pause_max_ticks);
}

}  // namespace weft
