// The builder: what it derives (lanes, issue order, in-degrees) and what it refuses.
#include "schedule/builder.h"

#include "support/test.h"

namespace weft::builder_test {

constexpr Region data{Buffer::recv, 0, 64};

std::vector<OpId> successors(const Schedule& schedule, OpId op) {
    std::vector<OpId> to;
    for (Edge edge : schedule.after_completion(op)) to.push_back(edge.to);
    return to;
}

TEST(Builder, NumbersPeersWithinSomeOfTheRanks) {
    ScheduleBuilder builder(0, 10);
    const std::vector<Rank> outer = {0, 9, 7, 5};
    const std::vector<Rank> inner = {3, 1};
    {
        const auto some = builder.within(outer);
        builder.send(data, 1);
        {
            const auto fewer = builder.within(inner);
            builder.send(data, 0);
            builder.recv(data, 1);
        }
        builder.send(data, 2);
    }
    builder.send(data, 2);
    Result<Schedule> schedule = builder.seal();
    ASSERT_TRUE(schedule.is_ok());
    std::vector<Rank> peers;
    for (const Op& op : schedule->ops()) peers.push_back(op.peer);
    EXPECT_EQ(peers, (std::vector<Rank>{9, 5, 9, 7, 2}));
}

TEST(Builder, KeepsOperationsAndEdges) {
    ScheduleBuilder builder(1, 4);
    OpId arrived = builder.recv(data, 0);
    OpId first = builder.send(data, 2, {arrived});
    OpId second = builder.send(data, 3, {arrived});
    OpId end = builder.join({first, second, builder.start()});
    Schedule s = *builder.seal();
    ASSERT_EQ(s.ops().size(), 4u);
    EXPECT_EQ(successors(s, arrived), (std::vector<OpId>{first, second}));
    EXPECT_EQ(successors(s, first), (std::vector<OpId>{end}));
    EXPECT_EQ(s.in_degree()[end], 2u);
    EXPECT_EQ(std::vector(s.roots().begin(), s.roots().end()), (std::vector<OpId>{arrived}));
    EXPECT_EQ(s.lanes().size(), 3u);
}

TEST(Builder, HoldsBackWhatIsBuiltWithinSomeOfTheRanksButReceives) {
    ScheduleBuilder builder(0, 10);
    const std::vector<Rank> members = {0, 9, 7};
    const OpId ready = builder.join({});
    OpId sent = no_op;
    OpId nested = no_op;
    OpId received = no_op;
    {
        const auto some = builder.within(members, ready);
        sent = builder.send(data, 1);
        received = builder.recv(data, 2);
        const auto inner = builder.within(std::vector<Rank>{0, 2});
        nested = builder.send(data, 1);
    }
    const OpId later = builder.send(data, 1);
    const Schedule s = *builder.seal();
    EXPECT_EQ(successors(s, ready), (std::vector<OpId>{sent, nested}));
    EXPECT_LT(received, later);
}

TEST(Builder, FindsWhatWritesARegion) {
    ScheduleBuilder builder(0, 3);
    const Region half = data.part(0, 32);
    const OpId received = builder.recv(half, 1);
    const OpId behind = builder.recv(data.part(32, 32), 1);
    const OpId sent = builder.send(data, 2);
    const OpId copied = builder.copy({Buffer::send, 0, 32}, half, {received});
    const OpId elsewhere = builder.copy({Buffer::send, 0, 32}, builder.scratch(32));
    const OpId nothing = builder.recv(data.part(40, 0), 1);
    const OpId written = builder.written(half);
    const OpId nothing_written = builder.written(data.part(40, 0));
    const OpId unwritten = builder.written({Buffer::recv, 64, 8});
    const Schedule s = *builder.seal();
    EXPECT_EQ(successors(s, received), (std::vector<OpId>{copied, written}));
    EXPECT_EQ(successors(s, copied), std::vector<OpId>{written});
    EXPECT_EQ(successors(s, nothing), std::vector<OpId>{nothing_written});
    for (OpId op : {sent, elsewhere}) EXPECT_TRUE(successors(s, op).empty());
    EXPECT_EQ(successors(s, behind), std::vector<OpId>{nothing_written});
    EXPECT_EQ(s.in_degree()[unwritten], 0u);
}

// A repeat waits, and is waited for, as a whole.
TEST(Builder, OrdersTheUsersOfARegionAndThoseThatReadWhatTheyWrote) {
    ScheduleBuilder builder(0, 3);
    const Region half = data.part(0, 32);
    const OpId before = builder.copy({Buffer::send, 0, 32}, half);
    const OpId sent = builder.send(half, 1);
    const OpId received = builder.recv(data.part(16, 32), 2);
    const OpId elsewhere = builder.send(data.part(32, 32), 1);
    const OpId empty = builder.send(data.part(0, 0), 1);
    builder.repeat_begin({.total_bytes = 64, .block_bytes = 16});
    const OpId of_sends = builder.send({Buffer::send, 0, 16}, 2);
    const OpId exit_of_sends = builder.repeat_end();
    builder.repeat_begin({.total_bytes = 64, .block_bytes = 16});
    const OpId inside = builder.recv({Buffer::recv, 64, 16}, 2);
    const OpId exit = builder.repeat_end();
    builder.order_users(before, half, before + 1);
    const OpId written = builder.written(half);
    const Schedule s = *builder.seal();
    EXPECT_EQ(successors(s, before),
              (std::vector<OpId>{sent, received, s.repeat_of(inside)->entry, written}));
    EXPECT_EQ(successors(s, received), std::vector<OpId>{written});
    EXPECT_EQ(successors(s, exit), std::vector<OpId>{written});
    for (const OpId op : {sent, elsewhere, empty, exit_of_sends})
        EXPECT_TRUE(successors(s, op).empty()) << op;
    EXPECT_EQ(s.in_degree()[s.repeat_of(of_sends)->entry], 0u);
}

TEST(Builder, AFenceSeparatesWhatComesBeforeAndAfter) {
    ScheduleBuilder builder(0, 2);
    OpId sent = builder.send(data, 1);
    builder.repeat_begin({.total_bytes = 128, .block_bytes = 64});
    OpId block = builder.recv(data, 1);
    OpId blocks = builder.repeat_end();
    builder.fence();
    OpId fence = blocks + 1;
    builder.repeat_begin({.total_bytes = 128, .block_bytes = 64});
    builder.recv(data, 1);
    OpId entry = builder.repeat_end() - 2;
    OpId after = builder.copy(data, builder.scratch(64));
    builder.fence();
    OpId last = builder.join({});
    Schedule s = *builder.seal();
    auto holds = [&](OpId before, OpId op) {
        const std::vector<OpId> to = successors(s, before);
        return std::find(to.begin(), to.end(), op) != to.end();
    };
    for (OpId before : {sent, blocks}) EXPECT_TRUE(holds(before, fence));
    EXPECT_FALSE(holds(block, fence));
    for (OpId op : {entry, after}) EXPECT_TRUE(holds(fence, op));
    EXPECT_TRUE(holds(after, after + 1));
    EXPECT_TRUE(holds(after + 1, last));
    EXPECT_FALSE(holds(fence, last));
}

TEST(Builder, IssuesTheMessagesOfALaneInOrder) {
    ScheduleBuilder builder(0, 2);
    OpId late = builder.join({});
    OpId first = builder.send(data, 1, {late});
    OpId received = builder.recv(data, 1);
    OpId second = builder.send(data, 1);  // ready at once, but behind the first
    Schedule s = *builder.seal();
    EXPECT_EQ(s.after_issue(first).to, second);
    EXPECT_EQ(s.after_issue(second).to, Schedule::no_issue);
    EXPECT_EQ(s.after_issue(received).to, Schedule::no_issue);
    EXPECT_EQ(s.in_degree()[second], 1u);
    const ScheduleLane& sends = s.lanes()[static_cast<std::size_t>(s.lane_of(first))];
    EXPECT_TRUE(sends.sends);
    EXPECT_EQ(sends.gate, first);
    EXPECT_EQ(sends.last, second);
}

TEST(Builder, KnowsWhichReductionsOnlyCombineWhatArrives) {
    constexpr Region own{Buffer::send, 0, 64};
    constexpr Region other{Buffer::recv, 64, 64};
    ScheduleBuilder builder(0, 6);
    OpId alone = builder.recv(data, 1);
    OpId combined = builder.reduce(own, data, {alone});
    OpId awaited = builder.recv(other, 2, {combined});  // by two
    builder.reduce(own, other, {awaited});
    builder.send(data, 2, {awaited});
    OpId early = builder.recv(other, 3, {awaited});  // its reduction also waits for another
    builder.reduce(own, other, {early, combined});
    OpId aside = builder.recv(builder.scratch(64), 4);  // not in the receive's place
    builder.reduce({Buffer::scratch, 0, 64}, data, {aside});
    OpId to_the_left = builder.recv({Buffer::recv, 128, 64}, 5);
    builder.reduce_right({Buffer::recv, 64, 64}, {Buffer::recv, 128, 64}, {to_the_left});
    Schedule s = *builder.seal();
    EXPECT_EQ(s.combines_arrival(alone), combined);
    for (OpId op : {combined, awaited, early, aside, to_the_left}) {
        EXPECT_EQ(s.combines_arrival(op), no_op) << op;
    }
}

TEST(Builder, RepeatsAreStoredOnce) {
    ScheduleBuilder builder(1, 3);
    OpId before = builder.recv(data, 0);
    builder.repeat_begin({.total_bytes = 1000, .block_bytes = 64, .window = 4}, {before});
    OpId in = builder.recv({Buffer::recv, 0, 64}, 0);
    OpId out = builder.send({Buffer::recv, 0, 64}, 2, {in});
    OpId end = builder.repeat_end();
    OpId after = builder.send(data, 2, {});
    Schedule s = *builder.seal();
    ASSERT_EQ(s.repeats().size(), 1u);
    const Repeat& r = s.repeats()[0];
    EXPECT_EQ(r.iterations, 16);
    EXPECT_EQ(r.short_bytes, 16 * 64 - 1000);
    EXPECT_EQ(r.exit, end);
    EXPECT_EQ(s.at(in, 0).into_offset, 0);
    EXPECT_EQ(s.at(in, 3).into_offset, 192);
    EXPECT_EQ(s.at(in, 15).bytes, 1000 - 15 * 64);
    // The next iteration's message of the lane follows this one's.
    EXPECT_EQ(s.after_issue(in).to, in);
    EXPECT_EQ(s.after_issue(in).distance, 1u);
    // A message before the repeat is issued before the block begins; one after it, when it has
    // ended.
    EXPECT_EQ(s.after_issue(before).to, r.entry);
    EXPECT_EQ(successors(s, end), (std::vector<OpId>{after}));
    EXPECT_EQ(s.lane_of(out), s.lane_of(after));
    EXPECT_EQ(s.lanes()[static_cast<std::size_t>(s.lane_of(out))].gate, r.entry);
}

TEST(Builder, AnIterationMayTakeSeveralBlocks) {
    ScheduleBuilder builder(1, 3);
    builder.repeat_begin({.total_bytes = 960, .block_bytes = 32, .window = 4, .per_iteration = 3});
    OpId first = builder.recv({Buffer::recv, 0, 32}, 0);
    OpId third = builder.recv({Buffer::recv, 64, 32}, 0);
    builder.repeat_end();
    Schedule s = *builder.seal();
    EXPECT_EQ(s.repeats()[0].iterations, 10);
    EXPECT_EQ(s.at(first, 2).into_offset, 192);
    EXPECT_EQ(s.at(third, 9).into_offset, 960 - 32);
    EXPECT_EQ(s.at(third, 9).bytes, 32);
    // Within an iteration the blocks follow one another on the lane, and then the next iteration's.
    EXPECT_EQ(s.after_issue(first).to, third);
    EXPECT_EQ(s.after_issue(third).to, first);
    EXPECT_EQ(s.after_issue(third).distance, 1u);
}

TEST(Builder, ARepeatOfNothingIsAJoin) {
    ScheduleBuilder builder(1, 3);
    builder.repeat_begin({.total_bytes = 0, .block_bytes = 64, .window = 4});
    OpId in = builder.recv({Buffer::recv, 0, 64}, 0);
    builder.send({Buffer::recv, 0, 64}, 2, {in});
    OpId end = builder.repeat_end();
    OpId last = builder.join({end});
    Schedule s = *builder.seal();
    EXPECT_TRUE(s.repeats().empty());
    EXPECT_EQ(s.ops().size(), 2u);
    EXPECT_EQ(successors(s, end), (std::vector<OpId>{last}));
}

TEST(Builder, ScratchOfARepeatRotatesThroughTheWindow) {
    ScheduleBuilder builder(0, 2);
    Region shared = builder.scratch(10);
    builder.repeat_begin({.total_bytes = 640, .block_bytes = 64, .window = 3});
    Region own = builder.scratch(64);
    OpId in = builder.recv(own, 1);
    builder.repeat_end();
    Schedule s = *builder.seal();
    EXPECT_EQ(shared.offset, 0);
    EXPECT_EQ(own.offset, 64);
    EXPECT_EQ(s.scratch_bytes(), 64 + 3 * 64);
    EXPECT_EQ(s.at(in, 2).into_offset, 64 + 2 * 64);
    EXPECT_EQ(s.at(in, 3).into_offset, 64);
}

std::string refusal(ScheduleBuilder& builder) {
    Result<Schedule> sealed = builder.seal();
    EXPECT_FALSE(sealed.is_ok());
    EXPECT_EQ(sealed.status().code, WEFT_REFUSED_ARGUMENT);
    return last_detail();
}

TEST(Builder, RefusesCyclesPeersAndSizes) {
    ScheduleBuilder cycle(0, 2);
    OpId a = cycle.join({});
    OpId b = cycle.join({a});
    cycle.order(b, a);
    EXPECT_EQ(refusal(cycle), "the schedule's operations wait for each other in a cycle");

    ScheduleBuilder peer(0, 2);
    peer.send(data, 2);
    EXPECT_EQ(refusal(peer), "operation 0 has peer = 2; expected 0..1 other than this rank, 0");

    ScheduleBuilder self(1, 2);
    self.recv(data, 1);
    EXPECT_EQ(refusal(self), "operation 0 has peer = 1; expected 0..1 other than this rank, 1");

    ScheduleBuilder size(0, 2);
    size.send({Buffer::send, -8, 64}, 1);
    EXPECT_EQ(refusal(size), "operation 0 has bytes = 64 at offsets -8 and 0; expected 0 or more");
}

TEST(Builder, RefusesTheFirstWrongOperationThatIsLeft) {
    ScheduleBuilder two(0, 2);
    two.send(data, 1);
    two.copy({Buffer::send, 0, 8}, {Buffer::recv, -64, 8});
    two.send(data, 7);
    EXPECT_EQ(refusal(two), "operation 1 has bytes = 8 at offsets 0 and -64; expected 0 or more");

    // A repeat without iterations leaves nothing behind.
    ScheduleBuilder gone(0, 2);
    gone.repeat_begin({.total_bytes = 0, .block_bytes = 8});
    gone.send({Buffer::send, 0, 8}, 7);
    gone.repeat_end();
    EXPECT_TRUE(gone.seal().is_ok());
}

TEST(Builder, MakesRoomForExpectedOperationsOnce) {
    const auto memory_bytes = [](bool expects) {
        ScheduleBuilder builder(0, 2);
        if (expects) builder.expect(1025);
        for (int i = 0; i < 1025; ++i) builder.copy(data, {Buffer::recv, 64 * i, data.bytes});
        return (*builder.seal()).memory_bytes();
    };
    EXPECT_EQ(memory_bytes(true),
              memory_bytes(false) - static_cast<std::int64_t>((2048 - 1025) * sizeof(Op)));
}

TEST(Builder, ForwardOrderIsNoCycle) {
    ScheduleBuilder builder(0, 2);
    OpId a = builder.join({});
    OpId b = builder.join({});
    builder.order(b, a);
    EXPECT_TRUE(builder.seal().is_ok());
}

}  // namespace weft::builder_test
