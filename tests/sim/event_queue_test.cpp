// The queue of events: in the order of times, equal times in the order of pushing.
#include "sim/event_queue.h"

#include "base/random.h"
#include "support/test.h"

namespace weft::simulate::event_queue_test {

// Random pushes beside a map that is known to be in order.
void compare(std::uint64_t seed, std::int64_t span_ps, int at_start) {
    Prng prng(seed);
    EventQueue queue;
    std::multimap<std::int64_t, std::uint32_t> expected;  // keeps the order of equal times
    std::uint32_t pushed = 0;
    const auto push = [&](std::int64_t time_ps) {
        queue.push({time_ps, pushed, ~pushed});
        expected.emplace(time_ps, pushed++);
    };
    const auto later = [&] {
        return static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(span_ps)));
    };
    for (int i = 0; i < at_start; ++i) push(later());
    while (!queue.is_empty()) {
        const SimEvent event = queue.pop();
        ASSERT_EQ(event.time_ps, expected.begin()->first);
        ASSERT_EQ(event.rank, expected.begin()->second);
        ASSERT_EQ(event.what, ~event.rank);
        expected.erase(expected.begin());
        if (pushed > 40'000) continue;
        for (std::uint64_t i = prng.below(3); i > 0; --i)
            push(event.time_ps + (prng.one_in(4) ? 0 : later()));
    }
    EXPECT_TRUE(expected.empty());
}

TEST(EventQueue, KeepsTheOrder) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        for (const std::int64_t span_ps : {1, 3, 1000, 5'000'000}) {
            compare(seed, span_ps, 10);
            compare(seed, span_ps, 10'000);
        }
        compare(seed, std::int64_t{1} << 61, 5000);
    }
}

TEST(EventQueue, OfNothingIsEmpty) {
    EventQueue queue;
    EXPECT_TRUE(queue.is_empty());
    EXPECT_TRUE(queue.is_empty());
}

}  // namespace weft::simulate::event_queue_test
