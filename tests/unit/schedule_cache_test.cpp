// The cache of schedules: found by signature, bounded, never dropping what is in use.
#include "communicator/schedule_cache.h"

#include "schedule/builder.h"
#include "support/test.h"

namespace weft::schedule_cache_test {

Signature signature(std::int64_t bytes) {
    return {.collective = Collective::bcast, .bytes = bytes};
}

Schedule schedule() { return *ScheduleBuilder(0, 1).seal(); }

TEST(ScheduleCache, FindsBySignature) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    EXPECT_EQ(cache.find(signature(8)), nullptr);
    CachedSchedule& made = cache.insert(signature(8), {}, schedule());
    EXPECT_EQ(cache.find(signature(8)), &made);
    Signature other = signature(8);
    other.root = 1;
    EXPECT_EQ(cache.find(other), nullptr);
    other = signature(8);
    other.in_place = true;
    EXPECT_EQ(cache.find(other), nullptr);
}

// Calls of all collectives with the same block size stay cached beside one another.
TEST(ScheduleCache, HasRoomForEveryCollectiveOfOneSize) {
    HandleTable<Request> table;
    for (const std::int64_t bytes : {0, 8, 1024, 65536}) {
        ScheduleCache cache(table);
        auto call_of = [&](std::size_t number) {
            Signature call = signature(bytes);
            call.collective = static_cast<Collective>(number);
            return call;
        };
        for (std::size_t i = 0; i < collectives; ++i) cache.insert(call_of(i), {}, schedule());
        for (std::size_t i = 0; i < collectives; ++i)
            EXPECT_NE(cache.find(call_of(i)), nullptr) << bytes << " bytes, collective " << i;
    }
}

TEST(ScheduleCache, FindsByTheContentOfArrays) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    const std::vector<std::int64_t> counts{3, 0, 5};
    std::vector<std::int64_t> displacements{0, 3, 3};
    Signature call = signature(8);
    call.recv = {counts, displacements};
    CachedSchedule& made = cache.insert(call, {}, schedule());
    const std::vector<std::int64_t> same = displacements;
    call.recv.displacements = same;
    EXPECT_EQ(cache.find(call), &made);
    displacements[2] = 4;  // the caller's, which the cache has copied
    EXPECT_EQ(cache.find(call), &made);
    call.recv.displacements = displacements;
    EXPECT_EQ(cache.find(call), nullptr);
    call.recv.displacements = {};
    EXPECT_EQ(cache.find(call), nullptr);
    call.recv = {std::span(counts).first(2), same};
    EXPECT_EQ(cache.find(call), nullptr);
    call.recv = {};
    call.send = {counts, same};
    EXPECT_EQ(cache.find(call), nullptr) << "of the other buffer";
}

TEST(ScheduleCache, IsBoundedAndKeepsWhatIsInUse) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    Request& held = cache.insert(signature(0), {}, schedule()).take();
    std::uintptr_t handle = table.handle(held.place);
    for (std::int64_t bytes = 1; bytes <= 5000; ++bytes)
        cache.insert(signature(bytes), {}, schedule());
    EXPECT_EQ(table.find(handle), &held);
    EXPECT_EQ(&cache.find(signature(0))->take() == &held, false);
    int kept = 0;
    for (std::int64_t bytes = 1; bytes <= 5000; ++bytes)
        kept += cache.find(signature(bytes)) != nullptr;
    EXPECT_LE(kept, 256);
    EXPECT_GT(kept, 100);
    // The last one in stays.
    EXPECT_NE(cache.find(signature(5000)), nullptr);
}

// Wherever a new schedule goes, there is room for one besides these three.
TEST(ScheduleCache, DropsTheLeastRecentlyUsed) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    constexpr std::int64_t used = 3;
    for (std::int64_t bytes = 0; bytes <= used; ++bytes)
        cache.insert(signature(bytes), {}, schedule());
    for (std::int64_t bytes = used + 1; bytes < 5000; ++bytes) {
        for (std::int64_t again = 0; again < used; ++again)
            ASSERT_NE(cache.find(signature(again)), nullptr) << "before " << bytes;
        cache.insert(signature(bytes), {}, schedule());
    }
    EXPECT_EQ(cache.find(signature(used)), nullptr) << "not used again";
}

// By memory, the least recently used of all go first.
TEST(ScheduleCache, DropsTheLeastRecentlyUsedWhenMemoryIsShort) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    const auto insert = [&](std::int64_t bytes) {
        ScheduleBuilder builder(0, 1);
        builder.scratch(8 << 20);
        CachedSchedule& made = cache.insert(signature(bytes), {}, *builder.seal());
        made.give_back(made.take());
    };
    insert(0);
    for (std::int64_t bytes = 1; bytes < 100; ++bytes) {
        ASSERT_NE(cache.find(signature(0)), nullptr) << "before " << bytes;
        insert(bytes);
        const ScheduleCache::Contents all = cache.contents();
        EXPECT_LE(all.memory_bytes, 73 << 20) << "the limit, and the latest";
    }
    // The first one and the last ones are there, and no others.
    const auto kept = static_cast<std::int64_t>(cache.contents().schedules);
    EXPECT_GT(kept, 4);
    for (std::int64_t bytes = 1; bytes < 100; ++bytes)
        EXPECT_EQ(cache.find(signature(bytes)) != nullptr, bytes > 100 - kept) << bytes;
}

TEST(ScheduleCache, IsBoundedInMemory) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    for (std::int64_t bytes = 0; bytes < 100; ++bytes) {
        ScheduleBuilder builder(0, 1);
        builder.scratch(8 << 20);
        CachedSchedule& made = cache.insert(signature(bytes), {}, *builder.seal());
        made.give_back(made.take());
    }
    int kept = 0;
    for (std::int64_t bytes = 0; bytes < 100; ++bytes) {
        kept += cache.find(signature(bytes)) != nullptr;
    }
    EXPECT_LE(kept, 9);  // of 8 MiB each
    EXPECT_NE(cache.find(signature(99)), nullptr);
}

TEST(ScheduleCache, KeepsTheLatestWhenEverythingIsInUse) {
    HandleTable<Request> table;
    ScheduleCache cache(table);
    std::vector<Request*> taken;
    for (std::int64_t bytes = 0; bytes < 2000; ++bytes) {
        taken.push_back(&cache.insert(signature(bytes), {}, schedule()).take());
    }
    std::vector<std::uintptr_t> handles;
    for (Request* request : taken) {
        handles.push_back(table.handle(request->place));
        EXPECT_EQ(table.find(handles.back()), request);
    }
    EXPECT_EQ(&cache.find(signature(1999))->take().home, &taken.back()->home);
    for (Request* request : taken) cache.give_back(*request);
    for (std::uintptr_t handle : handles) EXPECT_EQ(table.find(handle), nullptr);
}

TEST(HandleTable, TellsAFreedHandleFromALivingOne) {
    HandleTable<int> table;
    int one = 1;
    int two = 2;
    std::uint32_t place = table.add(&one);
    std::uintptr_t handle = table.handle(place);
    EXPECT_NE(handle, 0u);
    EXPECT_EQ(table.find(handle), &one);
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(~std::uintptr_t{0}), nullptr);
    table.remove(place);
    EXPECT_EQ(table.find(handle), nullptr);
    EXPECT_EQ(table.add(&two), place);
    EXPECT_EQ(table.find(handle), nullptr);
    EXPECT_EQ(table.find(table.handle(place)), &two);
}

}  // namespace weft::schedule_cache_test
