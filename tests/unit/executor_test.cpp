// The executor on hand-made schedules: repeats with carried edges, order between runs of a stream,
// and that nothing is allocated while a run is started and advanced.
#include "run/executor.h"

#include "communicator/request.h"
#include "lab/wrap/forwarding.h"
#include "schedule/builder.h"
#include "support/counting_new.h"
#include "support/in_call.h"
#include "support/test.h"
#include "support/world.h"
#include "weft/collective.h"

namespace weft::test::executor_test {

// Executors of several ranks over the simulated network, and a stream of all of them.
class Ranks {
  public:
    Ranks(Rank ranks, std::uint64_t seed, SimOptions options = {})
        : network_(ranks, seed, options) {
        for (Rank rank = 0; rank < ranks; ++rank) {
            auto& member = members_.emplace_back(std::make_unique<Member>());
            member->transport = std::make_unique<SimTransport>(network_, rank);
            std::vector<Transport*> routes(static_cast<std::size_t>(ranks),
                                           member->transport.get());
            member->executor = std::make_unique<Executor>(
                rank, std::vector<Transport*>{member->transport.get()}, std::move(routes));
            member->group.context = 1;
            member->group.members.resize(static_cast<std::size_t>(ranks));
            std::iota(member->group.members.begin(), member->group.members.end(), 0);
            member->stream = std::make_unique<Stream>(member->group, 0);
        }
    }

    void start(Rank rank, Run& run, std::byte* recv) {
        Member& member = *members_[static_cast<std::size_t>(rank)];
        member.executor->start(run, *member.stream, {.send = recv, .recv = recv, .reduction = {}});
    }

    // Until no rank has anything to do. False: some runs can never end.
    bool finish() {
        bool moved = true;
        while (moved) {
            moved = network_.advance();
            for (auto& member : members_) moved |= member->executor->progress();
        }
        for (auto& member : members_) {
            if (member->executor->active() > 0) return false;
        }
        return true;
    }

  private:
    struct Member {
        std::unique_ptr<Transport> transport;
        std::unique_ptr<Executor> executor;
        Group group;
        std::unique_ptr<Stream> stream;
    };
    SimNetwork network_;
    std::vector<std::unique_ptr<Member>> members_;
};

// Rank 0 streams blocks to rank 1, which keeps a running sum in place: block i + 1 is added to
// block i before it is passed on to rank 2. The dependency between iterations is a carried edge.
Schedule prefix_pipeline(Rank rank, std::int64_t blocks, std::uint32_t window) {
    ScheduleBuilder builder(rank, 3);
    Region first{Buffer::recv, 0, 8};
    Region second{Buffer::recv, 8, 8};
    if (rank == 1) {
        // Block 0 lies outside of the repeat.
        OpId arrived = builder.recv(first, 0);
        OpId passed = builder.send(first, 2, {arrived});
        builder.repeat_begin({.total_bytes = (blocks - 1) * 8, .block_bytes = 8, .window = window},
                             {passed});
        OpId in = builder.recv(second, 0);
        OpId added = builder.reduce(first, second, {in});
        if (window > 1) builder.order(added, added, 1);
        builder.send(second, 2, {added});
        builder.repeat_end();
    } else {
        builder.repeat_begin({.total_bytes = blocks * 8, .block_bytes = 8, .window = window});
        if (rank == 0) builder.send(first, 1);
        if (rank == 2) builder.recv(first, 1);
        builder.repeat_end();
    }
    Result<Schedule> sealed = builder.seal();
    EXPECT_TRUE(sealed.is_ok()) << last_detail();
    return std::move(*sealed);
}

TEST(Executor, RunsCarriedEdgesOfARepeat) {
    constexpr std::int64_t blocks = 40;
    Result<Reduction> sum = bind_reduction(WEFT_SUM, WEFT_INT64);
    ASSERT_TRUE(sum.is_ok());
    for (std::uint32_t window : {1u, 2u, 3u, 7u, 15u}) {
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            SimNetwork network(3, seed, {.busy_one_in = seed % 2 ? 4u : 0u});
            std::vector<std::int64_t> data[3];
            std::vector<std::unique_ptr<SimTransport>> ends;
            std::vector<std::unique_ptr<Executor>> executors;
            Group groups[3];
            std::vector<std::unique_ptr<Stream>> streams;
            std::vector<Schedule> schedules;
            std::vector<std::unique_ptr<weft::Run>> runs;
            for (Rank rank = 0; rank < 3; ++rank) {
                data[rank].resize(blocks);
                schedules.push_back(prefix_pipeline(rank, blocks, window));
            }
            std::iota(data[0].begin(), data[0].end(), 1);
            for (Rank rank = 0; rank < 3; ++rank) {
                auto r = static_cast<std::size_t>(rank);
                ends.push_back(std::make_unique<SimTransport>(network, rank));
                executors.push_back(
                    std::make_unique<Executor>(rank, std::vector<Transport*>{ends[r].get()},
                                               std::vector<Transport*>(3, ends[r].get())));
                groups[r].context = 1;
                groups[r].members = {0, 1, 2};
                streams.push_back(std::make_unique<Stream>(groups[r], 0));
                runs.push_back(std::make_unique<weft::Run>(schedules[r]));
                auto* bytes = reinterpret_cast<std::byte*>(data[r].data());
                executors[r]->start(*runs[r], *streams[r], {bytes, bytes, *sum});
            }
            bool moved = true;
            while (moved) {
                moved = network.advance();
                for (auto& executor : executors) moved |= executor->progress();
            }
            for (auto& run : runs)
                ASSERT_TRUE(run->is_done()) << "window " << window << " seed " << seed;
            for (std::int64_t i = 0; i < blocks; ++i) {
                ASSERT_EQ(data[2][static_cast<std::size_t>(i)], (i + 1) * (i + 2) / 2)
                    << "window " << window << " seed " << seed << " block " << i;
            }
        }
    }
}

// Three runs of one stream; the first waits longest, and still its messages come first on every
// lane.
TEST(Executor, RunsOfAStreamKeepTheirOrderOnEveryLane) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Ranks ranks(3, seed);
        // Rank 0 sends its byte to rank 2 only after it has heard of rank 1.
        std::vector<Schedule> relayed;
        std::vector<Schedule> direct;
        for (Rank rank = 0; rank < 3; ++rank) {
            ScheduleBuilder late(rank, 3);
            ScheduleBuilder soon(rank, 3);
            Region byte{Buffer::recv, 0, 1};
            if (rank == 0) {
                OpId heard = late.recv({Buffer::recv, 0, 0}, 1);
                late.send(byte, 2, {heard});
                soon.send(byte, 2);
            }
            if (rank == 1) late.send({Buffer::recv, 0, 0}, 0);
            if (rank == 2) {
                late.recv(byte, 0);
                soon.recv(byte, 0);
            }
            relayed.push_back(std::move(*late.seal()));
            direct.push_back(std::move(*soon.seal()));
        }
        std::byte buffers[3][3];
        std::vector<std::unique_ptr<weft::Run>> runs;
        for (Rank rank : {2, 0, 1}) {
            auto r = static_cast<std::size_t>(rank);
            for (int i = 0; i < 3; ++i) {
                buffers[r][i] = rank == 0 ? static_cast<std::byte>(10 + i) : std::byte{0};
                runs.push_back(std::make_unique<weft::Run>(i == 0 ? relayed[r] : direct[r]));
                ranks.start(rank, *runs.back(), &buffers[r][i]);
            }
        }
        ASSERT_TRUE(ranks.finish());
        for (int i = 0; i < 3; ++i) ASSERT_EQ(buffers[2][i], static_cast<std::byte>(10 + i));
    }
}

// The simulated network may allocate; the executors may not.
class Uncounted final : public ForwardingTransport {
  public:
    explicit Uncounted(std::unique_ptr<Transport> sim)
        : ForwardingTransport(*sim), sim_(std::move(sim)) {}

    Posted post_send(const Lane& lane, Bytes data, Token token) override {
        const Pause pause;
        return ForwardingTransport::post_send(lane, data, token);
    }
    std::size_t poll(std::span<Completion> done) override {
        const Pause pause;
        return ForwardingTransport::poll(done);
    }

  private:
    struct Pause {
        ~Pause() { counting = was_counting; }
        bool was_counting = std::exchange(counting, false);
    };

    Posted receive(const Lane& lane, MutBytes data, const Combination* combination,
                   Token token) override {
        const Pause pause;
        return ForwardingTransport::receive(lane, data, combination, token);
    }

    std::unique_ptr<Transport> sim_;
};

class ExecutorMemory : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Calls, ExecutorMemory, ::testing::Bool(), [](const auto& is_checked) {
    return is_checked.param ? "checked" : "unchecked";
});

TEST_P(ExecutorMemory, IsNotAllocatedForACachedCall) {
    const World::Wrap uncounted = [](Rank, std::unique_ptr<Transport> sim) {
        return std::make_unique<Uncounted>(std::move(sim));
    };
    World world(4, 3, {.buffering = Buffering::never}, {}, uncounted,
                /*checks_calls=*/GetParam());
    std::int32_t values[4][1000] = {};
    auto round = [&] {
        std::vector<std::pair<Rank, Request*>> started;
        started.reserve(16);
        for (Rank rank = 0; rank < 4; ++rank) {
            Call call{.collective = Collective::allreduce,
                      .send_buf = WEFT_IN_PLACE,
                      .recv_buf = values[rank],
                      .count = 1000,
                      .type = WEFT_INT32,
                      .op = WEFT_SUM};
            counting = true;
            Request* request = world.start(rank, call);
            counting = false;
            started.push_back({rank, request});
        }
        bool moved = true;
        while (moved) {
            moved = world.network().advance();
            for (Rank rank = 0; rank < 4; ++rank) {
                InCall in_call(world.process(rank).engine());
                counting = true;
                moved |= world.process(rank).engine().progress();
                counting = false;
            }
        }
        for (weft_status code : world.finish(started)) EXPECT_EQ(code, WEFT_OK);
    };
    for (int i = 0; i < 20; ++i) round();  // schedules, runs, and the network's pools
    allocations = 0;
    for (int i = 0; i < 20; ++i) round();
    EXPECT_EQ(allocations, 0);
}

// A transport that owes every peer something, and must not throw when it says so.
class Owing final : public ForwardingTransport {
  public:
    using ForwardingTransport::ForwardingTransport;
    void list_owed(std::vector<Rank>& peers) const override {
        EXPECT_GE(peers.capacity(), peers.size() + 3);
        peers.insert(peers.end(), {3, 1, 2});
    }
};

TEST(Executor, HasRoomForAllPeersThatAreOwedSomething) {
    SimNetwork network(4, 1, {});
    SimTransport sim(network, 0);
    Owing transport(sim);
    const Executor executor(0, {&transport}, {nullptr, &transport, &transport, &transport});
    EXPECT_EQ(executor.owed_ranks(), (std::vector<Rank>{1, 2, 3}));
}

TEST(Executor, OwesProcessesOfOtherJobsThatHaveNoNumberThere) {
    EXPECT_EQ(listed_processes({1}, 2), "rank 1 of the job");
    EXPECT_EQ(listed_processes({0, 1, 5}, 2), "ranks 0, 1 of the job and a process of another job");
    EXPECT_EQ(listed_processes({2, 5}, 2), "2 processes of other jobs");
}

// --- Messages of the program ---------------------------------------------------------------------

// Takes receives, and counts the looks for messages.
class Watched final : public ForwardingTransport {
  public:
    using ForwardingTransport::ForwardingTransport;
    NextMessage next_on(const Lane&) override {
        ++looks;
        return NextMessage::none;
    }
    int looks = 0;

  private:
    Posted receive(const Lane&, MutBytes, const Combination*, Token) override {
        return Posted::pending;
    }
};

class ExecutorMessages : public ::testing::Test {
  protected:
    ExecutorMessages() {
        group_.context = 1;
        group_.members = {0, 1};
    }
    void start(Rank peer, int tag, bool sends = false) {
        weft::Run& run = *runs_.emplace_back(std::make_unique<weft::Run>(schedule_));
        run.make_message();
        TaggedMessage& message = *run.message();
        message.stream = stream_of_tag(1, tag);
        message.peer = peer;
        message.sends = sends;
        counting = true;
        executor_.start_message(run, stream_);
        counting = false;
    }
    static Schedule join_alone() {
        ScheduleBuilder builder(0, 2);
        builder.join({});
        return *builder.seal();
    }

    SimNetwork network_{2, 1, {}};
    SimTransport sim_{network_, 0};
    Watched transport_{sim_};
    Executor executor_{0, {&transport_}, {nullptr, &transport_}};
    const Schedule schedule_ = join_alone();
    Group group_;
    Stream stream_{group_, 0};
    std::vector<std::unique_ptr<weft::Run>> runs_;
};

TEST_F(ExecutorMessages, OfOtherTagsNeedNothingMoreWhileOneFromAnySourceWaits) {
    start(any_source, 0);
    start(1, 0);  // behind it
    allocations = 0;
    for (int tag = 1; tag <= 1000; ++tag) start(1, tag);
    EXPECT_EQ(allocations, 0);
    executor_.progress();
    transport_.looks = 0;
    for (int i = 0; i < 10; ++i) executor_.progress();
    EXPECT_EQ(transport_.looks, 0) << "nothing has come";
}

TEST_F(ExecutorMessages, ArePolledOnceAndLastWhateverTransportsCome) {
    SimNetwork other(1, 1, {});
    SimTransport added(other, 0);
    const auto meet = [&] {
        start(0, 5, /*sends=*/true);
        start(0, 5);
        executor_.progress();
        for (const auto& run : runs_) EXPECT_TRUE(run->is_done());
    };
    meet();
    executor_.add_transport(added);
    allocations = 0;
    meet();
    EXPECT_EQ(allocations, 0);
    ASSERT_EQ(executor_.sources().size(), 3u);
    EXPECT_EQ(executor_.sources()[1], &added);
    EXPECT_STREQ(executor_.sources()[2]->name(), "messages");
}

}  // namespace weft::test::executor_test
