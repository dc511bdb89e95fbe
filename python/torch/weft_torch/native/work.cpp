#include "work.h"

#include <algorithm>
#include <utility>

#include "completer.h"
#include "failure.h"

namespace weft_torch {
namespace {

using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;

FuturePtr make_future() {
    return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

void mark(const FuturePtr& future, const std::exception_ptr& failure, const Tensors& outputs) {
    try {
        if (failure) {
            future->setError(failure);
        } else {
            future->markCompleted(c10::IValue(outputs));
        }
    } catch (const std::exception& error) {  // of a callback
        TORCH_WARN("weft: a callback of a future failed: ", error.what());
    }
}

}  // namespace

std::string Call::where() const {
    return c10::str("weft ", name(), " (", *group, ", number ", number, ")");
}

WeftWork::WeftWork(int rank, c10d::OpType type, Call call, Milliseconds timeout, Tensors outputs,
                   const Tensors& inputs)
    : Work(rank, type, call.title, inputs),
      call_(std::move(call)),
      timeout_(timeout),
      deadline_ns_(deadline_after(timeout)),
      outputs_(std::move(outputs)) {}

WeftWork::~WeftWork() {
    if (!completed_ && !operation_.requests.empty()) Orphans().add(std::move(operation_));
}

bool WeftWork::isCompleted() {
    {
        const std::lock_guard lock(mutex_);
        if (completed_) return true;
        if (consumer_ != Consumer::nobody) return false;
        consumer_ = Consumer::caller;
    }
    const weft_status status = operation_.test();
    if (status != WEFT_PENDING) {
        complete(status);
    } else if (now_ns() >= deadline_ns_) {
        expire();
    } else {
        give_back();
        return false;
    }
    return true;
}

bool WeftWork::wait(Milliseconds timeout) {
    if (timeout == kNoTimeout) timeout = timeout_;
    const std::int64_t deadline_ns = deadline_after(timeout);
    std::unique_lock lock(mutex_);
    while (!completed_) {
        if (consumer_ == Consumer::thread &&
            Completer::instance().take_back(cookie_, operation_.requests)) {
            consumer_ = Consumer::nobody;
        }
        if (consumer_ != Consumer::nobody) {  // another thread ends or returns it
            if (deadline_ns == no_deadline) {
                cv_.wait(lock);
            } else if (cv_.wait_until(lock, std::chrono::steady_clock::time_point(
                                                std::chrono::nanoseconds(deadline_ns))) ==
                           std::cv_status::timeout &&
                       !completed_ && now_ns() >= deadline_ns) {
                C10_THROW_ERROR(DistBackendError,
                                c10::str(call_.where(), ": not complete after ", timeout.count(),
                                         " ms; another thread waits for it"));
            }
            continue;
        }
        consumer_ = Consumer::caller;
        lock.unlock();
        const weft_status status = operation_.wait_until(deadline_ns);
        if (status == WEFT_TIMED_OUT) {
            const std::exception_ptr failure = timed_out(timeout);
            give_back();
            std::rethrow_exception(failure);
        }
        complete(status);
        lock.lock();
    }
    if (exception_) std::rethrow_exception(exception_);
    return true;
}

int WeftWork::sourceRank() const {
    TORCH_CHECK(operation_.source, call_.where(), ": only a receive from any rank has a source");
    return *operation_.source;
}

Tensors WeftWork::result() {
    TORCH_CHECK(isCompleted(),
                "Work needs to be completed before calling result(). "
                "Should call wait() before result().");
    return outputs_;
}

c10::intrusive_ptr<c10::ivalue::Future> WeftWork::getFuture() {
    std::unique_lock lock(mutex_);
    if (future_) return future_;
    const FuturePtr future = make_future();
    if (!completed_ && consumer_ == Consumer::nobody) hand_to_thread();
    future_ = future;  // (the thread cannot complete this Work before the lock is released)
    if (completed_) {
        lock.unlock();
        mark(future, exception_, outputs_);
    }
    return future;
}

void WeftWork::complete_from_thread() {
    complete(operation_.wait_until(no_deadline));  // returns at once
}

void WeftWork::expire_from_thread() { expire(); }

void WeftWork::complete(weft_status status) {
    std::exception_ptr failure;
    if (status != WEFT_OK) {
        failure = failure_of(status, call_.where());
    } else {
        try {
            operation_.finish();
        } catch (...) {
            failure = std::current_exception();
        }
    }
    operation_.requests.clear();
    operation_.finishing.clear();
    operation_.kept.clear();
    complete(failure);
}

// The consumer's last step.
void WeftWork::complete(std::exception_ptr failure) {
    FuturePtr future;
    std::function<void()> end_of_record;
    {
        const std::lock_guard lock(mutex_);
        completed_ = true;
        exception_ = failure;
        consumer_ = Consumer::nobody;
        future = future_;
        end_of_record = std::exchange(recordFunctionEndCallback_, nullptr);
    }
    if (end_of_record) end_of_record();
    cv_.notify_all();
    if (future) mark(future, failure, outputs_);
}

// Ends the Work, unless its operation has ended after all. The operation goes on.
void WeftWork::expire() {
    const weft_status status = operation_.wait_until(0);
    if (status != WEFT_TIMED_OUT) return complete(status);
    const std::exception_ptr failure = timed_out(timeout_);
    Operation going_on;
    std::swap(going_on, operation_);
    Orphans().add(std::move(going_on));
    complete(failure);
}

// After a wait of this thread. (torch's own tests look for the words "Timed out".)
std::exception_ptr WeftWork::timed_out(Milliseconds timeout) const {
    return failure_of(WEFT_TIMED_OUT,
                      c10::str(call_.where(), ": Timed out after ", timeout.count(), " ms"));
}

// With the lock.
void WeftWork::hand_to_thread() {
    cookie_ =
        Completer::instance().add(c10::intrusive_ptr<WeftWork>::unsafe_reclaim_from_nonowning(this),
                                  operation_.requests, deadline_after(timeout_));
    consumer_ = Consumer::thread;
}

void WeftWork::give_back() {
    {
        const std::lock_guard lock(mutex_);
        consumer_ = Consumer::nobody;
        if (future_) hand_to_thread();
    }
    cv_.notify_all();
}

// --- Several as one ------------------------------------------------------------------------------

bool CoalescedWork::isCompleted() {
    bool all = true;
    for (const WorkPtr& part : parts_) all = part->isCompleted() && all;
    return all;
}

bool CoalescedWork::isSuccess() const { return !exception(); }

std::exception_ptr CoalescedWork::exception() const {
    for (const WorkPtr& part : parts_) {
        if (const std::exception_ptr failure = part->exception()) return failure;
    }
    return nullptr;
}

bool CoalescedWork::wait(Milliseconds timeout) {
    const std::int64_t deadline_ns = deadline_after(timeout);
    for (const WorkPtr& part : parts_) {
        Milliseconds left = timeout;
        if (deadline_ns != no_deadline) {
            const auto ns = std::chrono::nanoseconds(deadline_ns - now_ns());
            left = std::max(std::chrono::duration_cast<Milliseconds>(ns), Milliseconds(1));
        }
        part->wait(left);
    }
    return true;
}

Tensors CoalescedWork::result() {
    Tensors all;
    for (const WorkPtr& part : parts_) {
        for (const at::Tensor& tensor : part->result()) all.push_back(tensor);
    }
    return all;
}

c10::intrusive_ptr<c10::ivalue::Future> CoalescedWork::getFuture() {
    c10::List<FuturePtr> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
    for (const WorkPtr& part : parts_) futures.push_back(part->getFuture());
    const FuturePtr joined = c10::collectAll(futures);
    const FuturePtr all = make_future();
    joined->addCallback([all](c10::ivalue::Future& ended) {
        Tensors outputs;
        std::exception_ptr failure;
        try {
            const c10::IValue parts = ended.value();  // throws the failure of a part
            for (const c10::IValue& part : parts.toListRef()) {
                for (const at::Tensor& tensor : part.toFuture()->value().toTensorVector())
                    outputs.push_back(tensor);
            }
        } catch (const std::exception&) {
            failure = std::current_exception();
        }
        mark(all, failure, outputs);
    });
    return all;
}

std::uint64_t CoalescedWork::getSequencenumber() const {
    return parts_.empty() ? 0 : parts_.back()->getSequencenumber();
}

}  // namespace weft_torch
