// A packed schedule is the same schedule again, and bytes that are none are refused.
#include "schedule/pack.h"

#include "schedule/builder.h"
#include "schedule/text.h"
#include "support/test.h"

namespace weft::pack_test {

Schedule some_schedule() {
    ScheduleBuilder builder(1, 3);
    const Region room = builder.scratch(24);
    const Region mine{Buffer::send, 8, 24};
    const Region result{Buffer::recv, 16, 24};
    const OpId got = builder.recv(room, 0);
    const OpId copied = builder.copy(mine, result);
    const OpId reduced = builder.reduce(room, result, {got, copied});
    const OpId called = builder.call(result, 5, {reduced});
    builder.send(result, 2, {called});
    builder.send({}, 2);
    builder.reduce_right(room, result, {builder.join({called})});
    const OpId first = builder.join({});
    builder.order(builder.join({}), first);  // named before it was there
    Result<Schedule> sealed = builder.seal();
    EXPECT_TRUE(sealed.is_ok()) << last_detail();
    return *sealed;
}

TEST(Pack, TheScheduleComesBack) {
    const Schedule schedule = some_schedule();
    std::vector<std::byte> bytes = pack(schedule);
    bytes.resize(bytes.size() + 100);  // a longer one's place
    const Result<Schedule> again = unpack(bytes, 1, 3);
    ASSERT_TRUE(again.is_ok()) << last_detail();
    EXPECT_EQ(to_text(*again), to_text(schedule));
    EXPECT_EQ((*again).rank(), 1);
    EXPECT_EQ((*again).ranks(), 3);
    EXPECT_EQ((*again).scratch_bytes(), schedule.scratch_bytes());
    for (OpId id = 0; id < schedule.ops().size(); ++id) {
        EXPECT_EQ((*again).ops()[id].peer, schedule.ops()[id].peer);
    }
}

TEST(Pack, AnEmptyOneComesBack) {
    ScheduleBuilder builder(0, 1);
    const Result<Schedule> again = unpack(pack(*builder.seal()), 0, 1);
    ASSERT_TRUE(again.is_ok()) << last_detail();
    EXPECT_TRUE((*again).ops().empty());
}

TEST(Pack, ShortBytesAreRefused) {
    const std::vector<std::byte> bytes = pack(some_schedule());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const Result<Schedule> cut = unpack(std::span(bytes).first(size), 1, 3);
        ASSERT_EQ(cut.status().code, WEFT_BROKEN_MESSAGE) << size << " bytes";
    }
    EXPECT_STREQ(last_detail(), "the bytes of rank 1 are not a schedule");
}

// A rank's bytes are checked like its calls were.
TEST(Pack, ABadPeerIsRefused) {
    const std::vector<std::byte> bytes = pack(some_schedule());
    EXPECT_EQ(unpack(bytes, 1, 2).status().code, WEFT_REFUSED_ARGUMENT);
}

}  // namespace weft::pack_test
