// The schedules of a communicator, by call signature. Set associative and bounded: in a full set
// the least recently used entry makes room, an idle one if there is one.
//
// Thread safety: none; the progress engine's lock covers it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "communicator/request.h"

namespace weft {

class ScheduleCache {
  public:
    explicit ScheduleCache(HandleTable<Request>& table) : table_(table) {}

    // Null: not cached.
    CachedSchedule* find(const Signature& call);

    // Adds a schedule that find() did not find. An evicted entry that is in use lives until its
    // last request is given back.
    CachedSchedule& insert(const Signature& call, BufferUses buffers, Schedule schedule);

    // Keeps a schedule that the program built, uncached, until let_go() has been called and its
    // last request has been given back.
    CachedSchedule& keep(Schedule schedule, std::vector<UserCall> calls);
    void let_go(CachedSchedule& own);

    // The request is no longer needed.
    void give_back(Request& request);

    // What is cached now.
    struct Contents {
        std::size_t schedules = 0;
        std::int64_t memory_bytes = 0;  // with scratch and requests
    };
    Contents contents() const;

    // The limit for all entries, including scratch: beyond it idle ones are dropped.
    static constexpr std::int64_t memory_bytes_max = 64 << 20;

  private:
    static constexpr std::size_t sets = 64;
    static constexpr std::size_t ways = 4;
    using Set = std::array<std::unique_ptr<CachedSchedule>, ways>;

    Set& set_of(const Signature& call);
    void make_room();
    void end_if_unused(CachedSchedule& prepared);

    HandleTable<Request>& table_;
    std::array<Set, sets> sets_;
    std::vector<std::unique_ptr<CachedSchedule>> dropped_;  // in use, uncached
    std::uint64_t uses_ = 0;
};

}  // namespace weft
