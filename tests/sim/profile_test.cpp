// Profiles of networks against the figures that were published of them.
#include "sim/profile.h"

#include "algorithm/catalogue.h"
#include "sim/loggp.h"
#include "support/loggp.h"
#include "support/test.h"

namespace weft::simulate::profile_test {

constexpr std::int64_t ns = 1000;
constexpr double mib = 1 << 20;

const NetworkProfile& pio() { return *find_profile("sci-pio"); }
const NetworkProfile& dma() { return *find_profile("sci-dma"); }

// A message from rank 0 to the next one on a ring of four, which is all that happens.
LogGpOutcome message(const NetworkProfile& profile, std::int64_t bytes,
                     const LogGpParameters* parameters = nullptr, bool is_flat = false) {
    const TorusParameters torus{Torus({1, 4}), profile.parameters.byte_gap_ps, profile.hop_ps};
    LogGpMachine machine(parameters ? *parameters : profile.parameters, {},
                         is_flat ? nullptr : &torus);
    machine.set_ends(profile.ends);
    const Region data{Buffer::send, 0, bytes};
    for (Rank r = 0; r < 4; ++r) {
        ScheduleBuilder builder(r, 4);
        if (r == 0) builder.send(data, 1);
        if (r == 1) builder.recv(data, 0);
        const Result<Schedule> schedule = builder.seal();
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    return test::outcome_of(machine);
}

TEST(Profile, SciAsPublished) {
    // Kaiser et al., 2009, section 2: "between 1.3 and 1.4 us" for 4 bytes, 34.5 us for 8.
    const std::int64_t stored = message(pio(), 4).end_ps[1];
    EXPECT_GT(stored, 1300 * ns);
    EXPECT_LT(stored, 1400 * ns);
    EXPECT_EQ(message(dma(), 8).end_ps[1], 34'500 * ns);
    // 325 MiB/s, and 195 until the receiver copies.
    constexpr std::int64_t bytes = 256 << 20;
    const auto mib_per_second = [](std::int64_t time_ps) {
        return bytes / mib / (static_cast<double>(time_ps) / 1e12);
    };
    EXPECT_NEAR(mib_per_second(message(pio(), bytes).end_ps[1]), 325, 0.1);
    const std::int64_t copied = bytes * dma().ends.recv_byte_overhead_ps.value();
    EXPECT_NEAR(mib_per_second(message(dma(), bytes).end_ps[1] - copied), 195, 0.1);
}

TEST(Profile, AStoringCpuIsBusyForEveryByte) {
    for (const bool is_flat : {false, true}) {
        for (const std::int64_t bytes : {1, 4096, 1 << 20}) {
            const LogGpParameters& p = pio().parameters;
            const LogGpOutcome done = message(pio(), bytes, nullptr, is_flat);
            EXPECT_EQ(done.cpu_ps[0], p.overhead_ps + (bytes - 1) * p.byte_overhead_ps);
            EXPECT_EQ(done.end_ps[0], done.cpu_ps[0]);
            // The bytes travel meanwhile.
            EXPECT_EQ(done.end_ps[1], done.cpu_ps[0] + p.latency_ps + (is_flat ? 0 : 70 * ns) +
                                          pio().ends.recv_overhead_ps.value());
            EXPECT_EQ(done.cpu_ps[1], pio().ends.recv_overhead_ps.value());
        }
    }
}

TEST(Profile, AStoringCpuWaitsForASharedLink) {
    // Ranks 0 and 3 of a ring of four both send over the link from 0 to 1.
    const TorusParameters torus{Torus({1, 4}), pio().parameters.byte_gap_ps, pio().hop_ps};
    LogGpMachine machine(pio().parameters, {}, &torus);
    machine.set_ends(pio().ends);
    constexpr std::int64_t bytes = 10'001;
    const Region data{Buffer::send, 0, bytes};
    for (Rank r = 0; r < 4; ++r) {
        ScheduleBuilder builder(r, 4);
        if (r == 0) builder.send(data, 1);
        if (r == 3) builder.send(data, 2);
        if (r == 1) builder.recv(data, 0);
        if (r == 2) builder.recv(data, 3);
        const Result<Schedule> schedule = builder.seal();
        ASSERT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    Result<LogGpOutcome> outcome = machine.run();
    ASSERT_TRUE(outcome.is_ok()) << last_detail();
    const LogGpParameters& p = pio().parameters;
    for (const std::size_t sender : {0u, 3u}) {
        EXPECT_EQ(outcome->cpu_ps[sender], p.overhead_ps + 2 * (bytes - 1) * p.byte_gap_ps);
        EXPECT_EQ(outcome->end_ps[sender], outcome->cpu_ps[sender]);
    }
}

// Seifert, Kohmann, 2004: 2.31 us for a byte, where the receiver polls; here an interrupt wakes it,
// which takes 5 us instead of its 0.5.
TEST(Profile, SuperSocketsAsPublishedButForTheInterrupt) {
    const NetworkProfile& sockets = *find_profile("supersockets");
    EXPECT_EQ(message(sockets, 1).end_ps[1], (2'310 - 500 + 5'000) * ns);
    // The sender's CPU stores all bytes, as without sockets.
    constexpr std::int64_t bytes = 1 << 20;
    EXPECT_GT(message(sockets, bytes).cpu_ps[0], (bytes - 1) * pio().parameters.byte_gap_ps);
}

// 2 GB/s, and the sender's CPU has nothing to do with the bytes.
TEST(Profile, InfiniBandLeavesTheBytesToTheCard) {
    constexpr std::int64_t bytes = 256 << 20;
    const LogGpOutcome done = message(*find_profile("infiniband"), bytes, nullptr, true);
    EXPECT_NEAR(static_cast<double>(bytes) / (static_cast<double>(done.end_ps[1]) / 1e12), 2e9,
                1e6);
    EXPECT_LT(done.cpu_ps[0], 5'000 * ns);
}

// From which size on moving takes less of the sender's CPU than storing: 1.6 kB if 5 us of the
// set-up are the CPU's, 11.7 kB if all of it is.
TEST(Profile, MovingPaysFromASizeOn) {
    const auto moving_pays = [](std::int64_t bytes, const LogGpParameters& moving) {
        return message(dma(), bytes, &moving).cpu_ps[0] < message(pio(), bytes).cpu_ps[0];
    };
    EXPECT_FALSE(moving_pays(1'600, dma().parameters));
    EXPECT_TRUE(moving_pays(1'700, dma().parameters));
    LogGpParameters all = dma().parameters;
    all.overhead_ps = 34'500 * ns;
    EXPECT_FALSE(moving_pays(11'600, all));
    EXPECT_TRUE(moving_pays(11'800, all));
    // It never ends earlier.
    for (const std::int64_t bytes : {8, 4096, 1 << 20})
        EXPECT_GT(message(dma(), bytes).end_ps[1], message(pio(), bytes).end_ps[1]);
}

TEST(Profile, AllHaveSources) {
    for (const NetworkProfile& profile : profiles()) {
        EXPECT_EQ(find_profile(profile.name), &profile);
        EXPECT_FALSE(profile.sources.empty()) << profile.name;
    }
    EXPECT_EQ(find_profile("none"), nullptr);
}

}  // namespace weft::simulate::profile_test
