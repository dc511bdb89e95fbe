// Processes that another library has started (here: fork), and groups of them that they make with
// its exchange: memory that they share.
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "conformance/rank_expect.h"

namespace weft::test {

constexpr int processes_max = 7;
constexpr std::size_t exchanged_bytes_max = 1 << 13;
constexpr std::int64_t patience_ns = 20'000'000'000;

using Members = std::vector<int>;  // processes, by rank in the group

// Of all groups of the same processes, round by round.
struct Exchange {
    std::atomic<unsigned> arrived;
    std::atomic<unsigned> left;
    std::byte slots[processes_max][exchanged_bytes_max];
};
struct Shared {
    std::atomic<unsigned> ready;             // processes that may lose another one now
    std::atomic<int> dead;                   // not 0: a process has been killed
    Exchange exchanges[1 << processes_max];  // by the members' bits
};
inline Shared* shared = nullptr;
inline unsigned rounds_done[1 << processes_max] = {};  // by this process

// This process is number `world_rank` (rank_expect.h).
struct GroupPlace {
    Members members;
    int rank = 0;

    explicit GroupPlace(Members all) : members(std::move(all)) {
        const auto own = std::find(members.begin(), members.end(), world_rank);
        rank = static_cast<int>(own - members.begin());
    }
    int ranks() const { return static_cast<int>(members.size()); }
    bool is_member() const { return rank < ranks(); }
    unsigned bits() const {
        unsigned all = 0;
        for (const int member : members) all |= 1u << member;
        return all;
    }
};

// False: not all have come.
inline bool wait_for(const std::atomic<unsigned>& count, unsigned expected) {
    for (const std::int64_t begin = now_ns(); count.load() < expected; usleep(50)) {
        if (shared->dead.load() != 0 || now_ns() - begin > patience_ns) return false;
    }
    return true;
}

// weft_oob::allgather; the context is a GroupPlace.
inline int exchange_all(void* context, const void* mine, void* all, int bytes) {
    const GroupPlace& own = *static_cast<const GroupPlace*>(context);
    const auto size = static_cast<std::size_t>(bytes);
    EXPECT(size <= exchanged_bytes_max);
    Exchange& exchange = shared->exchanges[own.bits()];
    const unsigned expected = ++rounds_done[own.bits()] * static_cast<unsigned>(own.ranks());
    std::memcpy(exchange.slots[own.rank], mine, size);
    ++exchange.arrived;
    if (!wait_for(exchange.arrived, expected)) return 1;
    for (int r = 0; r < own.ranks(); ++r) {
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(r) * size,
                    exchange.slots[r], size);
    }
    ++exchange.left;
    return wait_for(exchange.left, expected) ? 0 : 1;
}

// Collective over the group.
inline weft_status make_group(GroupPlace& place, weft_comm* comm) {
    weft_oob oob{};
    oob.struct_bytes = sizeof oob;
    oob.context = &place;
    oob.rank = place.rank;
    oob.ranks = place.ranks();
    oob.allgather = exchange_all;
    return weft_comm_from_oob(&oob, comm);
}

// Starts the processes, of which each ends with `run(number)`. Returns their ids, by number.
template <class Run>
std::vector<pid_t> fork_processes(int processes, Run run) {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    shared = new (memory) Shared;
    std::vector<pid_t> ids;
    for (int number = 0; number < processes; ++number) {
        const pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0) {
            world_rank = number;
            run(number);
            std::exit(0);
        }
        ids.push_back(child);
    }
    return ids;
}
inline void end_sharing() { munmap(shared, sizeof(Shared)); }

}  // namespace weft::test
