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

#include "bench/player/plain_blocks.h"
#include "bench/player/player.h"

namespace weft::bench {

class CopyThread final : public Player {
  public:
    // Of a job of two ranks of one machine. Fails if the thread may not use this core.
    CopyThread(const Job& job, int core) : job_(job), core_(core) {}
    ~CopyThread() override;
    CopyThread(const CopyThread&) = delete;
    CopyThread& operator=(const CopyThread&) = delete;

    std::string absence(const Collective& collective, const Job& job) const override {
        return PlainBlocks::absence(collective, job, /*can_add=*/false);
    }
    void start(const Collective& collective, Case& c) override;
    bool test() override { return ended_.load(std::memory_order_acquire) == started_.load(); }
    void wait() override;
    void barrier() override { must(weft_barrier(job_.comm), "weft_barrier"); }

  private:
    struct Inbox;

    void begin();  // the thread, and the memory that it copies through; collective
    void run();
    void move();
    // False: nothing can be copied now.
    bool push();
    bool pull();
    static void ring_bell(Inbox& inbox);

    std::size_t ring_bytes_ = 0;
    std::size_t inbox_bytes_ = 0;
    Inbox* inboxes_[2] = {};  // mine, the other's
    const Job job_;
    const int core_;
    PlainBlocks left_;  // of the operation
    std::atomic<std::uint32_t> started_ = 0;
    std::atomic<std::uint32_t> ended_ = 0;
    std::atomic<bool> stops_ = false;
    std::thread thread_;
};

}  // namespace weft::bench
