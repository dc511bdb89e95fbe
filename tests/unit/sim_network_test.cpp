// The simulated network: what the seed decides, buffering, deadlock, dying ranks.
#include "lab/sim/sim.h"

#include "support/test.h"

namespace weft::sim_network_test {

constexpr std::uint64_t seeds = 300;

Lane lane(Rank peer, std::uint32_t stream = 0, std::uint64_t context = 0) {
    return {peer, {context, stream}};
}

// Posts of one int each, and the completions in the order in which they were reported.
struct Job {
    Job(Rank ranks, std::uint64_t seed, SimOptions options = {}) : network(ranks, seed, options) {}

    Posted send(Rank from, Lane to, int& value, std::uint32_t op) {
        return network.post_send(from, to, std::as_bytes(std::span(&value, 1)), {&value, op});
    }
    Posted recv(Rank to, Lane from, int& value, std::uint32_t op) {
        return network.post_recv(to, from, std::as_writable_bytes(std::span(&value, 1)),
                                 {&value, op});
    }
    std::vector<Completion> poll(Rank rank) {
        std::array<Completion, 64> done;
        std::size_t reported = network.poll(rank, done);
        return {done.begin(), done.begin() + static_cast<std::ptrdiff_t>(reported)};
    }
    // Until nothing is in flight; everything that was reported to `rank`, other ranks' thrown away.
    std::vector<Completion> run(Rank rank) {
        std::vector<Completion> all;
        bool moves = true;
        while (moves) {
            moves = network.advance();
            for (Rank r = 0; r < network.ranks(); ++r) {
                for (const Completion& completion : poll(r)) {
                    moves = true;
                    if (r == rank) all.push_back(completion);
                }
            }
        }
        return all;
    }

    SimNetwork network;
};

TEST(SimNetwork, SameSeedSameHistory) {
    auto history = [](std::uint64_t seed) {
        Job job(3, seed, {.busy_one_in = 5});
        std::array<int, 60> values{};
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto op = static_cast<std::uint32_t>(i);
            Rank from = static_cast<Rank>(i % 3);
            Rank to = static_cast<Rank>((i + 1) % 3);
            if (i % 2 == 0) {
                job.send(from, lane(to, op % 4 / 2), values[i], op);
            } else {
                job.recv(to, lane(from, op % 4 / 2), values[i], op);
            }
            if (i % 10 == 0) job.network.kill_at(2, 400);
        }
        job.run(0);
        return job.network.history_hash();
    };
    std::set<std::uint64_t> histories;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        EXPECT_EQ(history(seed), history(seed)) << "seed " << seed;
        histories.insert(history(seed));
    }
    EXPECT_EQ(histories.size(), seeds);
}

TEST(SimNetwork, LanesOvertakeOneAnother) {
    std::set<std::uint32_t> first;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed);
        int sent[3] = {1, 2, 3};
        int received[3] = {};
        for (std::uint32_t stream = 0; stream < 3; ++stream) {
            job.send(0, lane(1, stream), sent[stream], stream);
            job.recv(1, lane(0, stream), received[stream], stream);
        }
        std::vector<Completion> reported = job.run(1);
        ASSERT_EQ(reported.size(), 3u);
        first.insert(reported[0].token.op);
    }
    EXPECT_EQ(first, (std::set<std::uint32_t>{0, 1, 2}));
}

// Streams that come and go, some of them cut off, leave nothing behind.
TEST(SimNetwork, IdleLanesDoNotAccumulate) {
    Job job(2, 5);
    std::array<int, 2> kept{7, 0};
    (void)job.recv(1, lane(0, 1, 1), kept[1], 1);
    for (std::uint32_t stream = 2; stream < 20'000; ++stream) {
        std::uint64_t context = stream % 16 == 0 ? stream : 1;
        int sent = static_cast<int>(stream);
        int received = 0;
        if (context != 1) job.network.open_context(0, context);
        (void)job.send(0, lane(1, stream, context), sent, 2);
        if (context != 1) {
            job.network.cancel_context(0, context);
            continue;
        }
        (void)job.recv(1, lane(0, stream, context), received, 3);
        job.run(1);
        ASSERT_EQ(received, sent);
    }
    EXPECT_LE(job.network.lanes(), 64u);
    (void)job.send(0, lane(1, 1, 1), kept[0], 4);
    job.run(1);
    EXPECT_EQ(kept[1], 7);
}

TEST(SimNetwork, UnbufferedSendWaitsForItsReceive) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed, {.buffering = Buffering::never});
        int sent = 5;
        int received = 0;
        ASSERT_EQ(job.send(0, lane(1), sent, 0), Posted::pending);
        EXPECT_TRUE(job.run(0).empty());
        EXPECT_FALSE(job.network.advance());
        EXPECT_EQ(job.network.pending(), "rank 0 sends 4 bytes to rank 1 (context 0, stream 0)\n");
        job.recv(1, lane(0), received, 0);
        EXPECT_EQ(job.run(0).size(), 1u);
        EXPECT_EQ(received, 5);
        EXPECT_EQ(job.network.pending(), "");
    }
}

TEST(SimNetwork, BufferedSendCompletesWithoutItsReceive) {
    int done_at_once = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed, {.buffering = Buffering::always});
        int sent = 5;
        int received = 0;
        bool done = job.send(0, lane(1), sent, 0) == Posted::done;
        EXPECT_EQ(job.run(0).size(), done ? 0u : 1u);
        done_at_once += done;
        sent = 6;  // the buffer is the program's again
        if (job.recv(1, lane(0), received, 0) != Posted::done) job.run(1);
        EXPECT_EQ(received, 5);
    }
    EXPECT_GT(done_at_once, 0);
    EXPECT_LT(done_at_once, static_cast<int>(seeds));
}

TEST(SimNetwork, NothingIsDoneAtOnceWhenSwitchedOff) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed, {.done_at_once = false});
        int sent = 5;
        int received = 0;
        EXPECT_EQ(job.send(0, lane(1), sent, 0), Posted::pending);
        job.run(0);
        EXPECT_EQ(job.recv(1, lane(0), received, 0), Posted::pending);
        job.run(1);
        EXPECT_EQ(received, 5);
    }
}

TEST(SimNetwork, MissingMessageIsADeadlock) {
    Job job(3, 1);
    int values[2] = {};
    job.recv(0, lane(1), values[0], 0);
    job.recv(1, lane(0), values[1], 0);
    EXPECT_FALSE(job.network.advance());
    EXPECT_EQ(job.network.pending(),
              "rank 0 receives 4 bytes from rank 1 (context 0, stream 0)\n"
              "rank 1 receives 4 bytes from rank 0 (context 0, stream 0)\n");
}

TEST(SimNetwork, BusyLeavesSomethingToWaitFor) {
    bool was_busy = false;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed, {.busy_one_in = 2});
        int value = 0;
        if (job.recv(1, lane(0), value, 0) != Posted::busy) continue;
        was_busy = true;
        EXPECT_TRUE(job.network.advance());
        EXPECT_FALSE(job.network.advance());
        EXPECT_EQ(job.network.pending(), "");
    }
    EXPECT_TRUE(was_busy);
}

TEST(SimNetwork, MessageInFlightFromADeadRankMayArrive) {
    std::set<weft_status> codes;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(2, seed);
        int sent = 5;
        int received = 0;
        job.send(0, lane(1), sent, 0);
        job.recv(1, lane(0), received, 9);
        job.network.kill_at(0, 20);
        std::vector<Completion> reported = job.run(1);
        ASSERT_EQ(reported.size(), 2u) << "the message and the loss, seed " << seed;
        std::size_t loss = reported[0].token.run ? 1 : 0;
        EXPECT_EQ(reported[loss].token.run, nullptr);
        EXPECT_EQ(reported[loss].code, WEFT_BROKEN_RANK);
        EXPECT_EQ(reported[loss].peer, 0);
        const Completion& message = reported[1 - loss];
        EXPECT_EQ(message.peer, 0);
        EXPECT_EQ(received, message.code == WEFT_OK ? 5 : 0);
        codes.insert(message.code);
    }
    EXPECT_EQ(codes, (std::set<weft_status>{WEFT_OK, WEFT_BROKEN_RANK}));
}

TEST(SimNetwork, RankDiesInsteadOfItsPost) {
    Job job(2, 4);
    int sent[3] = {1, 2, 3};
    int received[3] = {};
    job.network.kill_at_post(0, 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_FALSE(job.network.is_dead(0));
        job.send(0, lane(1), sent[i], i);
        job.recv(1, lane(0), received[i], i);
    }
    EXPECT_TRUE(job.network.is_dead(0));
    std::vector<Completion> reported = job.run(1);
    EXPECT_EQ(reported.size(), 4u);
    EXPECT_EQ(received[2], 0);
    EXPECT_TRUE(job.poll(0).empty());
}

TEST(SimNetwork, PostsWithALostRankBreak) {
    Job job(3, 8);
    job.network.kill(2);
    job.run(0);
    int values[2] = {};
    EXPECT_EQ(job.send(0, lane(2), values[0], 1), Posted::pending);
    EXPECT_EQ(job.recv(0, lane(2), values[1], 2), Posted::pending);
    std::vector<Completion> reported = job.run(0);
    ASSERT_EQ(reported.size(), 2u);
    for (const Completion& completion : reported) {
        EXPECT_EQ(completion.code, WEFT_BROKEN_RANK);
        EXPECT_EQ(completion.peer, 2);
    }
}

TEST(SimNetwork, EveryRankMayDie) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        Job job(4, seed);
        int values[12] = {};
        std::size_t n = 0;
        for (Rank from = 0; from < 4; ++from) {
            for (Rank to = 0; to < 4; ++to) {
                if (from != to) job.send(from, lane(to), values[n++], 0);
            }
            job.network.kill_at(from, from * 15);
        }
        job.run(0);
        EXPECT_FALSE(job.network.advance());
        EXPECT_EQ(job.network.pending(), "");
    }
}

}  // namespace weft::sim_network_test
