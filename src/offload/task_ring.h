// Runs task lists on an io_uring: the kernel takes each step when its data arrives, without a call.
//
// A list begins when it has its place on its connection. It is submitted in batches of the ring's
// depth, two at a time; a thread that may own it adds further ones. What the kernel does not take
// at once stays in the ring, and is submitted again.
//
// Thread safety: none; the progress engine's lock covers every call.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/fifo.h"
#include "offload/offload.h"
#include "offload/uring.h"
#include "offload/uring_list.h"
#include "transport/dedicated.h"

namespace weft::kernel {

class TaskRing final : public Offload {
  public:
    // `patience_ns`: how long the kernel may have no memory for entries, or not end what is called
    // off.
    TaskRing(const std::vector<Transport*>& routes, Options options,
             std::int64_t patience_ns = 10'000'000'000);
    ~TaskRing() override;

    const char* name() const override { return "io_uring"; }
    Abilities abilities() const override { return {.can_sleep = true}; }
    std::size_t poll(std::span<Completion> done) override;
    int wait_fd(Sleeper sleeper) const override;
    bool arm(Sleeper sleeper) override;
    bool has_work() const override { return !finished_.empty() || ring_.has_left() || has_doubts_; }
    void cancel_context(std::uint64_t context) override;
    void close_context(std::uint64_t context) override;

    Result<std::unique_ptr<Lists>> make(const Tasks& tasks) override;
    bool reserve(const Tasks& tasks, const Call& call) override;
    void begin(Lists& lists, const Call& call) override;
    Posted await(Lists& lists, std::uint32_t list, std::uint32_t report, Token token) override;
    void enable(Lists& lists, std::uint32_t list) override;
    void granted(std::uint32_t list) override;
    std::uint64_t broken(std::uint32_t list) override;
    bool is_busy() const override { return busy_ > 0; }
    bool needs_owner() const override { return !to_submit_.empty() || ring_.has_left(); }
    void submit() override;
    bool needs_attention() const override {
        return waiting_ > 0 || unfinished_ > 0 || ring_.has_left();
    }

    // Of RunLists.
    std::uint32_t add(List& list);
    void forget(RunLists& lists);

  private:
    struct DirectionKey {
        StreamId stream;
        Rank peer;
        bool sends;
        friend bool operator==(const DirectionKey&, const DirectionKey&) = default;
    };
    struct DirectionHash {
        std::size_t operator()(const DirectionKey& key) const {
            const auto peer = static_cast<std::uint64_t>(key.peer) << 1 | std::uint64_t{key.sends};
            return static_cast<std::size_t>((key.stream.packed() ^ peer << 20) *
                                            0x9e3779b97f4a7c15u);
        }
    };

    Status open();
    Fd semaphore();
    bool add_token(ChainOrder& direction);
    void reserve_queues();
    void take_place(List& list);
    void has_place(List& list);
    bool add_batches(ChainOrder& direction);
    bool submit_added();
    void reap();
    void on_completion(List& list, CqeKind kind, int result);
    void end_batch(List& list);
    void look_at_headers();
    bool check_headers(List& list, std::uint32_t come, bool may_come);
    void report(List& list);
    void fail(List& list, int result);
    void report_failure(const List& list);
    void set_state(List& list, List::State state);
    void cancel(const List& list);
    template <class Wanted>
    void call_off(Wanted wanted);

    Rank rank_ = -1;
    const std::int64_t patience_ns_;
    std::int64_t short_since_ns_ = 0;  // when the kernel first had no memory; 0: it has
    // Lists without runs, whose chains have not reported: the kernel may still write to them, and
    // to the descriptors that they keep open.
    std::vector<std::unique_ptr<List>> orphans_;
    Ring ring_;        // opened when it is first needed
    Fd thread_sleep_;  // epoll: the ring, while the progress thread is to be woken
    bool thread_armed_ = false;

    std::vector<List*> lists_;  // by id; null: free
    std::vector<List*> going_;  // receiving lists, whose headers are checked
    bool has_doubts_ = false;   // about one that is to be looked at again
    std::unordered_map<DirectionKey, std::shared_ptr<ChainOrder>, DirectionHash> directions_;
    Fifo<List*> to_submit_;  // the lists before them in their directions come first
    struct Finished {
        Completion completion;
        const RunLists* run;
    };
    Fifo<Finished> finished_;
    std::size_t descriptors_max_ = 0;
    std::size_t descriptors_ =
        0;  // the ring's own and eventfds, except those of lists that are stuck
    std::size_t busy_ = 0;
    std::size_t waiting_ = 0;
    std::size_t unfinished_ = 0;  // lists in flight with entries that are not submitted yet
};

}  // namespace weft::kernel
