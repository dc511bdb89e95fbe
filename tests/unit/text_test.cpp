// The readable form of a schedule.
#include "schedule/text.h"
#include "schedule/builder.h"
#include "support/test.h"

namespace weft::text_test {

TEST(Text, OneLinePerOperation) {
    ScheduleBuilder builder(1, 4);
    Region scratch = builder.scratch(8);
    OpId copied = builder.copy({Buffer::send, 0, 8}, {Buffer::recv, 16, 8});
    OpId arrived = builder.recv(scratch, 3);
    OpId reduced = builder.reduce(scratch, {Buffer::recv, 16, 8}, {copied, arrived});
    OpId again = builder.reduce_right(scratch, {Buffer::recv, 16, 8}, {reduced});
    OpId both = builder.join({arrived, again});
    builder.send({Buffer::recv, 16, 0}, 0, {both});
    EXPECT_EQ(to_text(*builder.seal()),
              "   0  copy    send[0..8) -> recv[16..24)\n"
              "   1  recv    scratch[0..8) <- rank 3\n"
              "   2  reduce  recv[16..24) = scratch[0..8) (op) recv[16..24)  after 0, 1\n"
              "   3  reduce  recv[16..24) = recv[16..24) (op) scratch[0..8)  after 2\n"
              "   4  join                                                    after 1, 3\n"
              "   5  send    nothing -> rank 0                               after 4\n");
}

TEST(Text, ARepeatIsABlock) {
    ScheduleBuilder builder(1, 3);
    builder.repeat_begin({.total_bytes = 100, .block_bytes = 16, .window = 3});
    Region block = {Buffer::recv, 0, 16};
    Region slot = builder.scratch(16);
    OpId arrived = builder.recv(slot, 0);
    OpId moved = builder.copy(slot, block, {arrived});
    builder.send(block, 2, {moved});
    builder.order(moved, arrived, 2);
    builder.repeat_end();
    EXPECT_EQ(
        to_text(*builder.seal()),
        "   0  join\n"
        "      repeat 7 times, 3 at a time, advancing by 16 bytes, scratch by 64; the last is 12 "
        "bytes shorter\n"
        "   1  | recv    scratch[0..16) <- rank 0       after 2 (2 iterations earlier)\n"
        "   2  | copy    scratch[0..16) -> recv[0..16)  after 1\n"
        "   3  | send    recv[0..16) -> rank 2          after 2\n"
        "   4  join                                     after the repeat\n");
}

TEST(Text, AnEmptyScheduleIsNoText) { EXPECT_EQ(to_text(*ScheduleBuilder(0, 1).seal()), ""); }

}  // namespace weft::text_test
