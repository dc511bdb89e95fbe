// An operation as torch sees it.
#pragma once

#include <memory>
#include <mutex>

#include "common.h"
#include "operation.h"

namespace weft_torch {

// A call of a group: what messages say about it.
struct Call {
    const char* title;  // static: "weft:all_reduce", as torch's profiler shows it
    std::shared_ptr<const std::string> group;  // "group 0, rank 1 of 2"
    std::uint64_t number;                      // of the group's calls, or of its messages

    const char* name() const { return title + sizeof "weft:" - 1; }
    std::string where() const;
};

// Thread-safe. Weft lets one thread at a time wait for a request, so a Work has one consumer: a
// thread that waits or tests, or, from the first future on, the completion thread. A thread that
// waits takes the requests back from the completion thread.
//
// After a timeout the operation goes on, and its tensors are kept until it has ended.
class WeftWork : public c10d::Work {
  public:
    WeftWork(int rank, c10d::OpType type, Call call, Milliseconds timeout, Tensors outputs,
             const Tensors& inputs);
    ~WeftWork() override;

    // For the thread that starts the requests, before anyone else has the Work.
    Operation& operation() { return operation_; }
    const Call& call() const { return call_; }

    bool isCompleted() override;
    bool wait(Milliseconds timeout = kNoTimeout) override;
    void synchronize() override {}
    int sourceRank() const override;
    Tensors result() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    std::uint64_t getSequencenumber() const override { return call_.number; }
    // (Not in all versions of torch's Work.)
    Milliseconds getTimeout() const { return timeout_; }

    // For the completion thread, which has taken it out of its list: all requests have ended.
    void complete_from_thread();
    // For the completion thread: the time is over.
    void expire_from_thread();

  private:
    enum class Consumer { nobody, caller, thread };

    void complete(std::exception_ptr failure);
    void complete(weft_status status);
    void expire();
    std::exception_ptr timed_out(Milliseconds timeout) const;
    void hand_to_thread();
    void give_back();

    const Call call_;
    const Milliseconds timeout_;
    const std::int64_t deadline_ns_;
    const Tensors outputs_;
    Operation operation_;  // the consumer's
    // Under mutex_ of c10d::Work, as completed_ and exception_ are:
    Consumer consumer_ = Consumer::nobody;
    std::uint64_t cookie_ = 0;  // of the completion thread's list
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// Several Works as one: those of a coalescing region.
class CoalescedWork : public c10d::Work {
  public:
    CoalescedWork(int rank, std::vector<WorkPtr> parts)
        : Work(rank, c10d::OpType::COALESCED), parts_(std::move(parts)) {}

    bool isCompleted() override;
    bool isSuccess() const override;
    std::exception_ptr exception() const override;
    bool wait(Milliseconds timeout = kNoTimeout) override;
    void synchronize() override {}
    Tensors result() override;
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    std::uint64_t getSequencenumber() const override;

  private:
    const std::vector<WorkPtr> parts_;
};

}  // namespace weft_torch
