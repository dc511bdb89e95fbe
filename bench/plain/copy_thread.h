// A thread beside each of two ranks, all on one core, that copies what a collective moves, through a ring in shared
// memory: a baseline for progress threads on a core set aside, written without the library.
//
// It does what the library's thread must do, and no more: the sender's copies into a ring as large as the second-level
// cache, the receiver's out of it, and a rank's own block at once. It sleeps whenever it cannot go on. So it also waits
// for a rank that has not started yet. A single copy would need access to the other process's memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

#include "bench/collective/collective.h"

namespace weft::bench {

// One operation at a time, started and waited for in one thread.
class CopyThread {
  public:
    static constexpr const char* movable = "ibcast, isend, iallgather or ialltoall";
    static bool can_move(const Collective& collective);

    // Collective over a job of two ranks of one machine. Fails if the thread may not use this core.
    CopyThread(const Job& job, int core);
    ~CopyThread();
    CopyThread(const CopyThread&) = delete;
    CopyThread& operator=(const CopyThread&) = delete;

    void start(const Collective& collective, Case& c);
    bool test() const { return ended_.load(std::memory_order_acquire) == started_.load(); }
    void wait() const;

  private:
    struct Inbox;

    void run(int core);
    void move();
    // False: nothing can be copied now.
    bool push();
    bool pull();
    static void ring_bell(Inbox& inbox);

    std::size_t ring_bytes_ = 0;
    std::size_t inbox_bytes_ = 0;
    Inbox* inboxes_[2] = {};  // mine, the other's
    const int rank_;
    // Of the operation: what is left.
    std::span<const std::byte> outgoing_;
    std::span<std::byte> incoming_;
    std::span<const std::byte> own_;
    std::byte* own_place_ = nullptr;
    std::atomic<std::uint32_t> started_ = 0;
    std::atomic<std::uint32_t> ended_ = 0;
    std::atomic<bool> stops_ = false;
    std::thread thread_;
};

}  // namespace weft::bench
