// What the parameters are found to be if the ends of a message work along with the network, by times in which they do.
// (tests/tools/loggp_test.cpp has those of the simulator.)
#include "bench/loggp/fit.h"

#include "support/test.h"

namespace weft::bench::loggp_fit_test {

// In ns.
struct Ends {
    double way;  // from end to end
    double send, recv;
    double byte_way, byte_send, byte_recv;
};

class GivenTimes : public LogGpPair {
  public:
    explicit GivenTimes(const Ends& ends) : ends_(ends) {}

    std::vector<std::vector<double>> time(const std::vector<LogGpTrain>& trains, int) override {
        std::vector<std::vector<double>> all;
        for (const LogGpTrain& train : trains) all.push_back({time_of(train)});
        return all;
    }

  private:
    double time_of(const LogGpTrain& train) const {
        using Kind = LogGpTrain::Kind;
        const auto after_first = static_cast<double>(train.bytes - 1);
        const auto delay = static_cast<double>(train.delay_ns);
        const double send = ends_.send + after_first * ends_.byte_send;
        const double recv = ends_.recv + after_first * ends_.byte_recv;
        const double trip = 2 * (ends_.way + after_first * ends_.byte_way);
        switch (train.kind) {
            case Kind::round_trip:
                return trip + (train.messages - 1) *
                                  (train.delay_ns > 0 ? delay + send : std::max(send, recv));
            case Kind::delays: return train.messages * delay;
            case Kind::reception: return train.messages * (trip + delay + recv);
            case Kind::requests: return train.messages * (trip + delay);
            default: return 0;
        }
    }

    const Ends ends_;
};

LogGpClass found(const Ends& ends) {
    GivenTimes pair(ends);
    return estimate_loggp(pair, {{"eager", {2048, 8192, 32768, 65536}}}, 1).classes.front();
}

TEST(LogGpFit, EndsOneAfterTheOther) {
    const LogGpClass one = found({4700, 1000, 1200, 0.9, 0.28, 0.3});
    EXPECT_FALSE(one.are_ends_along);
    EXPECT_NEAR(one.latency.value, 2500, 1e-3);
    EXPECT_NEAR(one.send_overhead.value, 1000, 1e-3);
    EXPECT_NEAR(one.byte_gap.value, 0.32, 1e-6);
    EXPECT_NEAR(one.residual, 0, 1e-6);
}

// Less than O_s + O_r from end to end: G is not below 0, and no time is too long.
TEST(LogGpFit, EndsAlongWithTheNetwork) {
    const LogGpClass one = found({4700, 1000, 1200, 0.35, 0.28, 0.3});
    EXPECT_TRUE(one.are_ends_along);
    EXPECT_NEAR(one.byte_gap.value, 0.35, 1e-6);
    EXPECT_NEAR(one.byte_send_overhead.value, 0.28, 1e-6) << "the CPU is as busy";
    EXPECT_NEAR(one.byte_recv_overhead.value, 0.3, 1e-6);
    EXPECT_NEAR(one.latency.value, 2500, 1e-3);
    EXPECT_NEAR(one.residual, 0, 1e-6);
}

TEST(LogGpFit, ALatencyIsNotBelowZero) {
    for (const double byte_way : {0.35, 0.9}) {
        const LogGpClass one = found({6000, 4000, 3000, byte_way, 0.28, 0.3});
        EXPECT_EQ(one.latency.value, 0);
        const double sum = one.send_overhead.value + one.recv_overhead.value;
        EXPECT_GT(sum, 6000);
        EXPECT_LT(sum, 6700) << "7000 by themselves";
        EXPECT_GT(one.send_overhead.value, one.recv_overhead.value);
        EXPECT_LT(one.recv_overhead.value, 3000);
        EXPECT_GT(one.residual, 0) << "nothing agrees with all times";
    }
}

}  // namespace weft::bench::loggp_fit_test
