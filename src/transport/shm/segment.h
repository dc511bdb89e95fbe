// The memory of one rank that the other ranks of its node map: its inbound rings, whether it
// sleeps, the demands of others on it, and which of its large messages may still be read.
//
// It is a memfd: it has no name in any file system and disappears with the last process that maps
// it, however that process ends. Its size is sealed, so that no peer gets a SIGBUS.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm/ring.h"
#include "transport/transport.h"

namespace weft::shm {

// Wakes a sleeping rank: one eventfd for each kind of sleeper, shared with all ranks of the node.
class Doorbells {
  public:
    static constexpr std::size_t count = 2;

    Doorbells() = default;
    explicit Doorbells(std::array<Fd, count> fds) : fds_(std::move(fds)) {}
    static Result<Doorbells> create();

    // Further descriptors of the same doorbells.
    Result<Doorbells> duplicate() const;

    int fd(Sleeper sleeper) const { return fds_[index(sleeper)].get(); }
    void ring(Sleeper sleeper) const;
    // The descriptor is not readable any more, until the next ring().
    void silence(Sleeper sleeper) const;

  private:
    static std::size_t index(Sleeper sleeper) {
        WEFT_ASSERT(sleeper == Sleeper::thread || sleeper == Sleeper::waiter);
        return sleeper == Sleeper::thread ? 0 : 1;
    }

    std::array<Fd, count> fds_;
};

struct SegmentShape {
    std::size_t rings = 0;  // one for each rank of the node
    std::size_t ring_bytes = 0;
};

struct SegmentHeader {
    std::uint64_t magic = 0;
    std::uint64_t rings = 0;
    std::uint64_t ring_bytes = 0;
    // The lowest two bits: which thread sleeps, an Armed (demand.h). The rest counts sleeps, so
    // that no two are equal.
    alignas(2 * line_bytes) std::atomic<std::uint32_t> armed{0};
    // The number of this rank's wait that others are to work for; 0: there is none.
    alignas(2 * line_bytes) std::atomic<std::uint32_t> wait{0};
    // Not 0: this rank has finalized; everything it sent is in the rings.
    alignas(2 * line_bytes) std::atomic<std::uint32_t> left{0};
    // By SlotId::index of a large send: its SlotId::use while the message may be read.
    alignas(2 * line_bytes) std::array<std::atomic<std::uint32_t>, 1024> readable{};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// Orders all accesses before it before all accesses after it. (GCC refuses
// std::atomic_thread_fence with ThreadSanitizer.)
inline void full_fence() { __sync_synchronize(); }

class Segment {
  public:
    // Refuses with WEFT_REFUSED_UNSUPPORTED where create() can never succeed: an old kernel, or a
    // sandbox.
    static Status check_support();
    static Result<std::shared_ptr<Segment>> create(SegmentShape shape);
    // Checks and maps a segment that another process created.
    static Result<std::shared_ptr<Segment>> open(int fd, std::size_t rings);

    Segment(Fd fd, std::byte* memory, SegmentShape shape);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    int fd() const { return fd_.get(); }
    SegmentShape shape() const { return shape_; }
    SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(memory_); }
    // By rank of the node: its demand on this segment's rank (demand.h).
    std::atomic<std::uint64_t>* demands() const;
    RingMemory ring(std::size_t index) const;

  private:
    Fd fd_;
    std::byte* memory_;
    SegmentShape shape_;
};

}  // namespace weft::shm
