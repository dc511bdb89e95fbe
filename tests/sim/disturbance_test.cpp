// Late starts and noise, and what they do to the LogGP machine.
#include "sim/disturbance.h"

#include "algorithm/catalogue.h"
#include "base/random.h"
#include "schedule/builder.h"
#include "sim/loggp.h"
#include "support/test.h"

namespace weft::simulate::disturbance_test {

constexpr std::int64_t ns = 1000;

Disturbance noise(std::int64_t period_ps, std::int64_t noise_ps, std::int64_t jitter_ps) {
    Disturbance disturbance;
    disturbance.period_ps = period_ps;
    disturbance.noise_ps = noise_ps;
    disturbance.jitter_ps = jitter_ps;
    return disturbance;
}

Disturbance late(Rank rank, std::int64_t time_ps) {
    Disturbance disturbance;
    disturbance.skew = Disturbance::Skew::late;
    disturbance.skew_ps = time_ps;
    disturbance.late_rank = rank;
    return disturbance;
}

LogGpOutcome simulate(const char* collective, const char* algorithm, Rank ranks,
                      const Disturbance& disturbance) {
    const algorithm::CollectiveSpec* const spec = algorithm::find_spec(collective);
    algorithm::GlobalArgs agreed;
    agreed.ranks = ranks;
    agreed.bytes = 1;
    LogGpMachine machine({}, disturbance);
    for (Rank r = 0; r < ranks; ++r) {
        const Result<Schedule> schedule =
            build_rank(*spec->find(algorithm), spec->problem(agreed, r, /*in_place=*/true));
        EXPECT_TRUE(schedule.is_ok()) << last_detail();
        machine.add(*schedule);
    }
    Result<LogGpOutcome> outcome = machine.run();
    EXPECT_TRUE(outcome.is_ok()) << last_detail();
    return std::move(*outcome);
}

std::int64_t end_of(const LogGpOutcome& outcome) { return std::ranges::max(outcome.end_ps); }

TEST(Noise, TakesItsShareOfLongWork) {
    for (const std::int64_t jitter_ps : {0, 300}) {
        const Disturbance disturbed = noise(1000, 200, jitter_ps);
        for (Rank rank = 0; rank < 50; ++rank) {
            const std::int64_t end = disturbed.end_ps(rank, 0, 8'000'000);
            EXPECT_NEAR(static_cast<double>(end), 10'000'000, 1000);
        }
    }
}

std::int64_t below(Prng& prng, std::int64_t bound) {
    return static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(bound)));
}

void expect_the_same_in_two_parts(const Disturbance& disturbed, Prng& prng) {
    const auto rank = static_cast<Rank>(below(prng, 5));
    const std::int64_t begin_ps = below(prng, 5000);
    const std::int64_t first_ps = 1 + below(prng, 3000);
    const std::int64_t second_ps = 1 + below(prng, prng.one_in(2) ? 10 : 9000);
    const std::int64_t middle = disturbed.end_ps(rank, begin_ps, first_ps);
    ASSERT_GE(middle, begin_ps + first_ps);
    ASSERT_EQ(disturbed.end_ps(rank, middle, second_ps),
              disturbed.end_ps(rank, begin_ps, first_ps + second_ps))
        << begin_ps << " " << first_ps << " " << second_ps;
}

TEST(Noise, WorkInTwoPartsTakesAsLong) {
    Prng prng(7);
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t period_ps = 2 + below(prng, 1000);
        const std::int64_t noise_ps = below(prng, period_ps);
        const Disturbance disturbed = noise(period_ps, noise_ps, below(prng, period_ps - noise_ps));
        SCOPED_TRACE(std::to_string(period_ps) + " " + std::to_string(noise_ps));
        ASSERT_NO_FATAL_FAILURE(expect_the_same_in_two_parts(disturbed, prng));
    }
}

Disturbance traced(const char* text, bool together = true) {
    Disturbance disturbance;
    Result<NoiseTrace> trace = NoiseTrace::read(text);
    EXPECT_TRUE(trace.is_ok()) << last_detail();
    disturbance.trace = std::make_shared<NoiseTrace>(std::move(*trace));
    disturbance.has_noise_together = together;
    return disturbance;
}

// Noise at 10 to 15, 20 to 30, then again at 40 to 45.
TEST(NoiseTrace, DelaysWorkAndBeginsAgain) {
    const Disturbance disturbed = traced("# begin duration\n10\t5\n\n20 10 # long\n");
    const auto end_ns = [&](std::int64_t begin_ns, std::int64_t cost_ns) {
        return disturbed.end_ps(3, begin_ns * ns, cost_ns * ns) / ns;
    };
    EXPECT_EQ(end_ns(0, 10), 10);
    EXPECT_EQ(end_ns(0, 11), 16);
    EXPECT_EQ(end_ns(12, 1), 16);
    EXPECT_EQ(end_ns(15, 5), 20);
    EXPECT_EQ(end_ns(0, 16), 31);
    EXPECT_EQ(end_ns(30, 11), 46);
    EXPECT_EQ(end_ns(25, 0), 25);
    EXPECT_EQ(end_ns(0, 15 * 1'000'000 + 1), 30 * 1'000'000 + 1);
}

TEST(NoiseTrace, WorkInTwoPartsTakesAsLong) {
    Prng prng(11);
    const Disturbance disturbed = traced("0 0.02\n0.1 0.05\n0.15 0.001\n0.3 0\n0.4 0.3", false);
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_NO_FATAL_FAILURE(expect_the_same_in_two_parts(disturbed, prng));
    }
}

// With 1 ps left to it in each period.
TEST(Noise, WorkThatItDelaysForTooLongEndsWithTheSimulatedTime) {
    const std::int64_t second_ps = 1'000'000'000 * ns;
    for (const Disturbance& disturbed :
         {traced("0.001 1000000000"), noise(second_ps, second_ps - 1, 0)}) {
        EXPECT_LT(disturbed.end_ps(0, 0, 1000), model::time_max_ps);
        EXPECT_EQ(disturbed.end_ps(0, 0, 20'000'000), model::time_max_ps);
        EXPECT_EQ(disturbed.end_ps(0, model::time_max_ps, 1'000'000'000'000), model::time_max_ps);
        LogGpMachine machine(LogGpParameters{}, disturbed);
        for (Rank r = 0; r < 2; ++r) {
            ScheduleBuilder builder(r, 2);
            for (int i = 0; i < 8; ++i) builder.send(builder.scratch(1), 1 - r);
            for (int i = 0; i < 8; ++i) builder.recv(builder.scratch(1), 1 - r);
            machine.add(*builder.seal());
        }
        EXPECT_FALSE(machine.run().is_ok());
        EXPECT_STREQ(last_detail(), "the simulated time is above 50 days");
    }
}

TEST(NoiseTrace, ThatIsPeriodicIsPeriodicNoise) {
    Disturbance periodic = noise(1000 * ns, 200 * ns, 0);
    periodic.has_noise_together = true;
    const Disturbance by_trace = traced("0 200\n1000 200\n2000 0");
    for (std::int64_t begin_ns = 0; begin_ns < 2500; begin_ns += 7) {
        for (const std::int64_t cost_ns : {1, 100, 5000}) {
            EXPECT_EQ(by_trace.end_ps(1, begin_ns * ns, cost_ns * ns),
                      periodic.end_ps(1, begin_ns * ns, cost_ns * ns))
                << begin_ns;
        }
    }
}

TEST(NoiseTrace, RefusesWithASentence) {
    for (const auto& [text, sentence] :
         {std::pair{"", "no noise in it"}, std::pair{"# nothing\n", "no noise in it"},
          std::pair{"0 5\n5 5\n", "nothing but noise in it"},
          std::pair{"0 5\n4 5\n", "line 2 begins before the end of the noise before it"},
          std::pair{"1\n", "line 1: expected a time and a duration, in ns"},
          std::pair{"1 2 3\n", "line 1: expected"}, std::pair{"1 -2\n", "line 1: expected"},
          std::pair{"1 2.0001\n", "line 1: expected"}, std::pair{"x 1\n", "line 1: expected"},
          std::pair{"9999999999999 1\n", "line 1: expected"}}) {
        EXPECT_FALSE(NoiseTrace::read(text).is_ok()) << text;
        EXPECT_NE(std::string(last_detail()).find(sentence), std::string::npos) << last_detail();
    }
}

TEST(Noise, WorkThatTakesNoTimeIsNotDelayed) {
    const Disturbance disturbed = noise(100, 99, 0);
    for (std::int64_t begin_ps = 0; begin_ps < 200; ++begin_ps)
        EXPECT_EQ(disturbed.end_ps(3, begin_ps, 0), begin_ps);
}

TEST(Noise, FollowsFromTheSeed) {
    Disturbance disturbed = noise(1'000'000, 100'000, 50'000);
    const auto ends = [&] {
        std::vector<std::int64_t> all;
        for (Rank rank = 0; rank < 100; ++rank) all.push_back(disturbed.end_ps(rank, 0, 500'000));
        return all;
    };
    const std::vector<std::int64_t> first = ends();
    EXPECT_EQ(ends(), first);
    disturbed.seed = 2;
    EXPECT_NE(ends(), first);
}

// What a sender's noise takes, the message comes later.
TEST(Noise, DelaysMessages) {
    const Disturbance disturbed = noise(10'000 * ns, 900 * ns, 0);
    int delayed = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Disturbance seeded = disturbed;
        seeded.seed = seed;
        const LogGpOutcome outcome = simulate("bcast", "binomial", 2, seeded);
        const std::int64_t sent = seeded.end_ps(0, 0, 1500 * ns);
        const std::int64_t arrived = sent + 2500 * ns;
        const std::int64_t received = seeded.end_ps(1, arrived, 1500 * ns);
        EXPECT_EQ(outcome.end_ps, (std::vector{sent, received}));
        EXPECT_EQ(outcome.disturbed_ps,
                  (std::vector{sent - 1500 * ns, received - arrived - 1500 * ns}));
        EXPECT_EQ(outcome.cpu_ps, (std::vector{1500 * ns, 1500 * ns}));
        delayed += sent > 1500 * ns;
    }
    EXPECT_GT(delayed, 3);
    EXPECT_LT(delayed, 37);
}

TEST(Skew, IsDistributedAsAsked) {
    Disturbance skewed;
    skewed.skew_ps = 1'000'000;
    const Rank ranks = 20'000;
    for (const auto skew : {Disturbance::Skew::normal, Disturbance::Skew::exponential}) {
        skewed.skew = skew;
        const std::vector<std::int64_t> starts = skewed.starts_ps(ranks);
        double mean = 0;
        double square = 0;
        for (const std::int64_t start : starts) {
            ASSERT_GE(start, 0);
            mean += static_cast<double>(start) / ranks;
            square += static_cast<double>(start) * static_cast<double>(start) / ranks;
        }
        EXPECT_NEAR(std::sqrt(square - mean * mean), 1e6, 3e4);
        if (skew == Disturbance::Skew::exponential) {
            EXPECT_NEAR(mean, 1e6, 3e4);
        } else {
            EXPECT_EQ(std::ranges::min(starts), 0);
        }
        EXPECT_EQ(skewed.starts_ps(ranks), starts);
    }
}

TEST(Skew, ALateReceiverTakesWhatHasCome) {
    const std::int64_t comes = 4000 * ns;
    for (const std::int64_t time_ps : {0 * ns, 1000 * ns, comes, comes + 1, 9000 * ns}) {
        const LogGpOutcome outcome = simulate("bcast", "binomial", 2, late(1, time_ps));
        EXPECT_EQ(end_of(outcome), std::max(comes, time_ps) + 1500 * ns);
        EXPECT_EQ(outcome.disturbed_ps, (std::vector<std::int64_t>{0, time_ps}));
    }
    EXPECT_EQ(end_of(simulate("bcast", "binomial", 2, late(0, 700 * ns))), (5500 + 700) * ns);
}

// All wait for a rank that is late; then there is more to receive at a time than without it.
TEST(Skew, ALateRankDelaysABarrier) {
    const std::int64_t undisturbed = 4 * 5500 * ns;
    for (const Rank rank : {0, 5, 15}) {
        const LogGpOutcome outcome =
            simulate("barrier", "dissemination", 16, late(rank, 100'000 * ns));
        EXPECT_GE(end_of(outcome), 100'000 * ns + undisturbed);
        EXPECT_LT(end_of(outcome), 100'000 * ns + 2 * undisturbed);
    }
}

TEST(Skew, SameSeedSameTimes) {
    Disturbance disturbed = noise(50'000 * ns, 2000 * ns, 1000 * ns);
    disturbed.skew = Disturbance::Skew::normal;
    disturbed.skew_ps = 3000 * ns;
    const LogGpOutcome first = simulate("allreduce", "recursive_doubling", 64, disturbed);
    EXPECT_EQ(simulate("allreduce", "recursive_doubling", 64, disturbed).end_ps, first.end_ps);
    disturbed.seed = 9;
    EXPECT_NE(simulate("allreduce", "recursive_doubling", 64, disturbed).end_ps, first.end_ps);
}

}  // namespace weft::simulate::disturbance_test
