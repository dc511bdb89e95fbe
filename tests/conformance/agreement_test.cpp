// WEFT_CHECK=1 on simulated ranks: calls that do not match end on every rank, with both in words and no
// buffer touched; calls that match give what they give without it.
#include "communicator/call/agreement.h"

#include "communicator/call/collectives.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/world.h"
#include "weft/collective.h"

namespace weft::test::agreement_test {

using Bytes = std::vector<unsigned char>;

constexpr unsigned char sent = 0x11;
constexpr unsigned char untouched = 0x5a;

struct CallInWords {
    Call call;  // without buffers
    const char* words;
};

struct Pair {
    CallInWords usual;
    CallInWords odd;
};

Call of(Collective collective, std::size_t count, weft_type type, int root = 0,
        weft_op op = WEFT_OP_NULL) {
    return {.collective = collective, .count = count, .type = type, .op = op, .root = root};
}

weft_op max_of_own() {
    static weft_op op = [] {
        weft_op made = WEFT_OP_NULL;
        EXPECT_TRUE(create_user_op([](const void*, void*, size_t, weft_type, void*) {}, true,
                                   nullptr, &made)
                        .is_ok());
        return made;
    }();
    return op;
}

weft_op doubled_sum() {
    static weft_op op = [] {
        weft_op made = WEFT_OP_NULL;
        EXPECT_TRUE(create_premul_sum(2, &made).is_ok());
        return made;
    }();
    return op;
}

std::vector<Pair> mismatches() {
    using C = Collective;
    const CallInWords bcast = {of(C::bcast, 8, WEFT_FLOAT64), "bcast of 8 x float64 with root 0"};
    const CallInWords allreduce = {of(C::allreduce, 8, WEFT_INT32, 0, WEFT_SUM),
                                   "allreduce of 8 x int32 with sum"};
    return {
        {bcast, {of(C::barrier, 0, WEFT_BYTE), "barrier"}},
        {bcast, {of(C::gather, 8, WEFT_FLOAT64), "gather of 8 x float64 with root 0"}},
        {bcast, {of(C::bcast, 8, WEFT_FLOAT64, 1), "bcast of 8 x float64 with root 1"}},
        {bcast, {of(C::bcast, 9, WEFT_FLOAT64), "bcast of 9 x float64 with root 0"}},
        {bcast, {of(C::bcast, 0, WEFT_FLOAT64), "bcast of 0 x float64 with root 0"}},
        {allreduce, bcast},
        {allreduce,
         {of(C::allreduce, 8, WEFT_INT32, 0, WEFT_MAX), "allreduce of 8 x int32 with max"}},
        {allreduce,
         {of(C::allreduce, 8, WEFT_UINT32, 0, WEFT_SUM), "allreduce of 8 x uint32 with sum"}},
        {allreduce,
         {of(C::allreduce, 8, WEFT_INT32, 0, max_of_own()),
          "allreduce of 8 x int32 with a user-defined operation"}},
        {{of(C::allreduce, 8, WEFT_FLOAT16, 0, WEFT_AVG), "allreduce of 8 x float16 with avg"},
         {of(C::allreduce, 8, WEFT_FLOAT16, 0, doubled_sum()),
          "allreduce of 8 x float16 with a premultiplied sum"}},
        {{of(C::allreduce, 8, WEFT_BFLOAT16, 0, max_of_own()),
          "allreduce of 8 x bfloat16 with a user-defined operation"},
         {of(C::allreduce, 8, WEFT_BFLOAT16, 0, doubled_sum()),
          "allreduce of 8 x bfloat16 with a premultiplied sum"}},
        {allreduce,
         {of(C::reduce, 8, WEFT_INT32, 0, WEFT_SUM), "reduce of 8 x int32 with sum and root 0"}},
        {{of(C::allgather, 5, WEFT_INT16), "allgather of 5 x int16"},
         {of(C::alltoall, 5, WEFT_INT16), "alltoall of 5 x int16"}},
        {{of(C::scatter, 100'000, WEFT_BYTE), "scatter of 100000 x byte with root 0"},
         {of(C::scatter, 100'001, WEFT_BYTE), "scatter of 100001 x byte with root 0"}},
    };
}

// A rank's call with buffers that nothing may touch.
struct Made {
    Bytes send = Bytes(1'000'000, sent);
    Bytes recv = Bytes(1'000'000, untouched);
    CallInWords call;
    Request* request = nullptr;

    explicit Made(const CallInWords& of_rank) : call(of_rank) {
        call.call.send_buf = send.data();
        call.call.recv_buf = recv.data();
    }
};

std::string sentence(const std::string& name, Rank rank, const std::string& odd,
                     const std::string& first) {
    return name + " on world: rank " + std::to_string(rank) + " of the job called " + odd +
           " where rank 0 called " + first;
}

void expect_mismatch(World& world, std::vector<Made>& made, Rank odd, const std::string& prefix) {
    while (world.step()) {
    }
    for (Rank rank = 0; rank < world.ranks(); ++rank) {
        Made& here = made[static_cast<std::size_t>(rank)];
        InCall in_call(world.process(rank).engine());
        ASSERT_TRUE(here.request->is_done()) << "rank " << rank << " hangs";
        const Rank named = odd == 0 ? 1 : odd;
        const Status status = world.world(rank).settle(*here.request);
        EXPECT_EQ(status.code, WEFT_BROKEN_MESSAGE);
        EXPECT_EQ(status.rank, named);
        EXPECT_EQ(std::string(last_detail()),
                  sentence(prefix + collective_name(here.call.call.collective), named,
                           prefix + made[static_cast<std::size_t>(named)].call.words,
                           prefix + made.front().call.words));
        EXPECT_EQ(here.send, Bytes(here.send.size(), sent));
        EXPECT_EQ(here.recv, Bytes(here.recv.size(), untouched));
    }
}

World checked_world(Rank ranks, std::uint64_t seed) {
    return World(ranks, seed, {}, {}, {}, /*checks_calls=*/true);
}

TEST(Agreement, EndsNonblockingCallsThatDoNotMatch) {
    for (const Pair& pair : mismatches()) {
        for (Rank ranks : {2, 3, 5}) {
            for (Rank odd = 0; odd < ranks; ++odd) {
                SCOPED_TRACE(std::string(pair.odd.words) + " on rank " + std::to_string(odd) +
                             " of " + std::to_string(ranks));
                World world = checked_world(ranks, static_cast<std::uint64_t>(odd));
                std::vector<Made> made;
                for (Rank rank = 0; rank < ranks; ++rank) {
                    made.emplace_back(rank == odd ? pair.odd : pair.usual);
                    made.back().request = world.start(rank, made.back().call.call);
                }
                expect_mismatch(world, made, odd, "");
            }
        }
    }
}

TEST(Agreement, EndsPersistentRequestsThatDoNotMatch) {
    for (const Pair& pair : mismatches()) {
        SCOPED_TRACE(pair.odd.words);
        World world = checked_world(3, 1);
        std::vector<Made> made;
        for (Rank rank = 0; rank < 3; ++rank) {
            made.emplace_back(rank == 2 ? pair.odd : pair.usual);
            InCall in_call(world.process(rank).engine());
            made.back().request = *world.world(rank).make_persistent(made.back().call.call);
            world.world(rank).start(*made.back().request);
        }
        expect_mismatch(world, made, 2, "persistent ");
    }
}

// Without the check: half the bytes meet all of them.
TEST(Agreement, EndsCallsOfWhichOnlySomeAreInTheWireFormat) {
    CommunicatorSettings settings;
    settings.wire = WireFormat::bfloat16;
    World world(3, 1, {}, settings, {}, /*checks_calls=*/true);
    const CallInWords floats = {of(Collective::allgather, 8, WEFT_FLOAT32),
                                "allgather of 8 x float32"};
    const CallInWords bytes = {of(Collective::allgather, 32, WEFT_BYTE), "allgather of 32 x byte"};
    std::vector<Made> made;
    for (Rank rank = 0; rank < 3; ++rank) {
        made.emplace_back(rank == 2 ? bytes : floats);
        made.back().request = world.start(rank, made.back().call.call);
    }
    expect_mismatch(world, made, 2, "");
}

// Whatever was pending: all operations end with the same reason, and nobody waits forever.
TEST(Agreement, EndsCallsInAnotherOrderInTheMidstOfOthers) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        World world = checked_world(4, seed);
        std::vector<std::vector<std::int32_t>> values(4, std::vector<std::int32_t>(5000));
        std::vector<std::pair<Rank, Request*>> requests;
        for (Rank rank = 0; rank < 4; ++rank) {
            auto* data = values[static_cast<std::size_t>(rank)].data();
            Call sum = of(Collective::allreduce, 1000, WEFT_INT32, 0, WEFT_SUM);
            sum.send_buf = WEFT_IN_PLACE;
            Call bcast = of(Collective::bcast, 1000, WEFT_INT32);
            for (int i = 0; i < 2; ++i) {
                sum.recv_buf = data + 1000 * i;
                requests.push_back({rank, world.start(rank, sum)});
            }
            sum.recv_buf = data + 2000;
            bcast.recv_buf = data + 3000;
            requests.push_back({rank, world.start(rank, rank == 3 ? bcast : sum)});
            requests.push_back({rank, world.start(rank, rank == 3 ? sum : bcast)});
            while (seed % 2 == 0 && world.step()) {
            }
        }
        std::vector<weft_status> codes = world.finish(requests);
        for (std::size_t i = 0; i < codes.size(); ++i) {
            // Those that were started before may have completed.
            const bool may_be_done = i % 4 < 2 && codes[i] == WEFT_OK;
            EXPECT_TRUE(may_be_done || codes[i] == WEFT_BROKEN_MESSAGE) << i;
        }
        for (Rank rank = 0; rank < 4; ++rank) {
            InCall in_call(world.process(rank).engine());
            ASSERT_FALSE(world.world(rank).start(of(Collective::barrier, 0, WEFT_BYTE)).is_ok());
            EXPECT_EQ(std::string(last_detail()),
                      sentence("barrier", 3, "bcast of 1000 x int32 with root 0",
                               "allreduce of 1000 x int32 with sum"));
        }
    }
}

TEST(Agreement, LetsMatchingCallsPass) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        World world = checked_world(5, seed);
        std::vector<Bytes> values(5, Bytes(800, 0));
        values[2].assign(800, 7);
        // The same bytes may be described by different counts and types.
        for (weft_status code : world.run_all([&](Rank rank) {
                 Call call = rank % 2 == 0 ? of(Collective::bcast, 100, WEFT_FLOAT64, 2)
                                           : of(Collective::bcast, 800, WEFT_BYTE, 2);
                 call.recv_buf = values[static_cast<std::size_t>(rank)].data();
                 return call;
             })) {
            EXPECT_EQ(code, WEFT_OK) << last_detail();
        }
        for (const Bytes& got : values) EXPECT_EQ(got, Bytes(800, 7));
    }
}

// Sizes of blocks that all ranks know are compared, those that only two ranks know are not.
TEST(Records, OfBlocksThatDiffer) {
    const std::vector<std::int64_t> counts = {1, 2, 3};
    const std::vector<std::int64_t> others = {2, 1, 3};
    const auto record = [](Call call, const std::vector<std::int64_t>& of) {
        static unsigned char buffer[100];
        call.send_buf = buffer;
        call.recv_buf = buffer + 50;
        call.send_blocks.counts = of.data();
        call.recv_blocks.counts = of.data();
        ByteCounts byte_counts;
        Signature signature;
        Binding binding;
        EXPECT_TRUE(check(call, {.rank = 2, .ranks = 3}, byte_counts, signature, binding).is_ok())
            << last_detail();
        return record_of(call, signature, call.root == 2, false);
    };
    using C = Collective;
    for (const Call& agreed :
         {of(C::reduce_scatter, 0, WEFT_INT32, 0, WEFT_SUM), of(C::allgatherv, 3, WEFT_INT32)}) {
        EXPECT_TRUE(agree(record(agreed, counts), record(agreed, counts)));
        EXPECT_FALSE(agree(record(agreed, counts), record(agreed, others)));
    }
    for (const C local : {C::gatherv, C::scatterv, C::alltoallv}) {
        EXPECT_TRUE(agree(record(of(local, 3, WEFT_INT32, 2), counts),
                          record(of(local, 3, WEFT_BYTE, 2), others)));
        EXPECT_FALSE(agree(record(of(local, 3, WEFT_INT32, 2), counts),
                           record(of(C::barrier, 0, WEFT_BYTE), others)));
    }
    EXPECT_EQ(in_words(record(of(C::gatherv, 3, WEFT_INT32, 2), counts)), "gatherv with root 2");
    EXPECT_EQ(in_words(record(of(C::alltoallv, 3, WEFT_INT32), counts)), "alltoallv");
}

}  // namespace weft::test::agreement_test
