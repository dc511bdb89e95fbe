// The containers of the shared-memory transport: lanes, queues, slots, pools.
#include "transport/shm/lanes.h"

#include "base/fifo.h"
#include "base/pool.h"
#include "base/random.h"
#include "support/counting_new.h"
#include "support/test.h"

namespace weft::shm::shm_lanes_test {

TEST(ShmLanes, finds_each_stream_again) {
    Lanes lanes;
    std::vector<Post> posts(1000);
    for (std::uint64_t stream = 0; stream < posts.size(); ++stream)
        lanes.find(stream << 32).posts.append(&posts[stream]);
    for (std::uint64_t stream = 0; stream < posts.size(); ++stream) {
        EXPECT_EQ(lanes.find(stream << 32).posts.first, &posts[stream]);
        ASSERT_NE(lanes.find_existing(stream << 32), nullptr);
    }
    EXPECT_EQ(lanes.find_existing(1), nullptr);
}

TEST(ShmLanes, idle_streams_do_not_accumulate) {
    Lanes lanes;
    Post post;
    lanes.find(7).posts.append(&post);
    for (std::uint64_t stream = 100; stream < 100'000; ++stream) lanes.find(stream);
    EXPECT_EQ(lanes.find(7).posts.first, &post);
    std::size_t known = 0;
    lanes.for_each([&](LaneQueue&) { ++known; });
    EXPECT_LE(known, 16u);
}

// The streams of many persistent requests, in use one after the other.
TEST(ShmLanes, idle_streams_cost_no_memory_again) {
    Lanes lanes;
    for (std::uint64_t stream = 0; stream < 100; ++stream) lanes.find(stream);
    test::allocations = 0;
    test::counting = true;
    for (int round = 0; round < 50; ++round)
        for (std::uint64_t stream = 0; stream < 100; ++stream) lanes.find(stream);
    test::counting = false;
    EXPECT_EQ(test::allocations, 0);
}

TEST(ShmLanes, a_lane_keeps_posting_order) {
    LaneQueue lane;
    EXPECT_TRUE(lane.idle());
    Post posts[3];
    for (Post& post : posts) lane.posts.append(&post);
    EXPECT_EQ(lane.posts.first, &posts[0]);
    EXPECT_EQ(posts[0].next, &posts[1]);
    EXPECT_EQ(posts[1].next, &posts[2]);
    EXPECT_EQ(lane.posts.last, &posts[2]);
    EXPECT_FALSE(lane.idle());
}

TEST(ShmFifo, is_first_in_first_out_and_filters_in_order) {
    Fifo<int> fifo;
    int in = 0, out = 0;
    Prng prng(3);
    for (int step = 0; step < 10'000; ++step) {
        if (prng.one_in(2) || fifo.empty()) {
            fifo.push(in++);
        } else {
            ASSERT_EQ(fifo.front(), out++);
            fifo.pop();
        }
    }
    fifo.clear();
    for (int i = 0; i < 100; ++i) fifo.push(i);
    fifo.remove_if([](int i) { return i % 3 != 0; });
    EXPECT_EQ(fifo.size(), 34u);
    for (int i = 0; i < 100; i += 3) {
        ASSERT_EQ(fifo.front(), i);
        fifo.pop();
    }
    EXPECT_TRUE(fifo.empty());
}

TEST(ShmSlots, an_id_names_one_use_only) {
    Slots<int> slots;
    const SlotId first = slots.add(1);
    ASSERT_NE(slots.find(first), nullptr);
    slots.remove(first);
    EXPECT_EQ(slots.find(first), nullptr);
    const SlotId second = slots.add(2);
    EXPECT_EQ(second.index, first.index);
    EXPECT_EQ(slots.find(first), nullptr);
    EXPECT_EQ(*slots.find(second), 2);
    EXPECT_EQ(*slots.find(SlotId::unpack(second.packed())), 2);
    EXPECT_EQ(slots.find(SlotId{}), nullptr);
    EXPECT_EQ(slots.find(SlotId{1000, 1}), nullptr);
}

TEST(ShmPool, blocks_hold_what_was_asked_for_and_come_back) {
    BlockPool pool;
    std::set<std::byte*> seen;
    for (std::size_t bytes : {1u, 63u, 64u, 65u, 1000u, 8192u}) {
        std::byte* block = pool.try_take(bytes);
        std::memset(block, 1, bytes);
        EXPECT_TRUE(seen.insert(block).second);
        pool.give_back(block, bytes);
        EXPECT_EQ(pool.try_take(bytes), block);
    }
}

TEST(ShmPool, objects_are_distinct_until_given_back) {
    Pool<Post> pool;
    std::set<Post*> taken;
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(taken.insert(pool.take()).second);
    Post* last = *taken.begin();
    pool.give_back(last);
    EXPECT_EQ(pool.take(), last);
}

}  // namespace weft::shm::shm_lanes_test
