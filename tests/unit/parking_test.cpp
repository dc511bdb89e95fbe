// Threads that park and are unparked.
#include "engine/parking.h"

#include "base/clock.h"
#include "engine/parking.h"
#include "support/test.h"

namespace weft::test::parking_test {

constexpr std::int64_t second_ns = 1'000'000'000;

class ThreadParking : public testing::TestWithParam<Sleeper> {
  protected:
    std::unique_ptr<Parking> parking_ = thread_parking();
};
INSTANTIATE_TEST_SUITE_P(As, ThreadParking, testing::Values(Sleeper::thread, Sleeper::waiter),
                         [](const auto& as) {
                             return as.param == Sleeper::thread ? "thread" : "waiter";
                         });

TEST_P(ThreadParking, AnUnparkEndsTheNextParkUntilItIsAcknowledged) {
    ASSERT_EQ(parking_->error(), 0);
    parking_->unpark(GetParam());
    for (int i = 0; i < 2; ++i) {
        const Parking::Woken woken = parking_->park(GetParam(), {}, Parking::forever);
        EXPECT_TRUE(woken.by_unpark);
        EXPECT_FALSE(woken.by_descriptor);
    }
    parking_->acknowledge(GetParam());
    EXPECT_FALSE(parking_->park(GetParam(), {}, 0).by_unpark);
}

TEST_P(ThreadParking, AnUnparkEndsTheCurrentPark) {
    std::thread parked(
        [&] { EXPECT_TRUE(parking_->park(GetParam(), {}, 20 * second_ns).by_unpark); });
    parking_->unpark(GetParam());
    parked.join();
}

TEST_P(ThreadParking, EndsWhenADescriptorIsReadable) {
    const Wake wake;
    wake.signal();
    const int descriptors[] = {-1, wake.fd()};
    const Parking::Woken woken = parking_->park(GetParam(), descriptors, Parking::forever);
    EXPECT_TRUE(woken.by_descriptor);
    EXPECT_FALSE(woken.by_unpark);
}

TEST_P(ThreadParking, IsNotEndedByAnUnparkOfTheOtherSleeper) {
    parking_->unpark(GetParam() == Sleeper::thread ? Sleeper::waiter : Sleeper::thread);
    EXPECT_FALSE(parking_->park(GetParam(), {}, 1).by_unpark);
}

TEST(ThreadParking, AFollowerDoesNotMissAnUnparkBetweenItsTicketAndItsPark) {
    const std::unique_ptr<Parking> parking = thread_parking();
    const std::uint64_t ticket = parking->ticket();
    parking->unpark_followers();
    parking->park_follower(ticket, Parking::forever);
    const std::int64_t deadline_ns = now_ns() + second_ns / 100;
    parking->park_follower(parking->ticket(), deadline_ns);
    EXPECT_GE(now_ns(), deadline_ns);
}

TEST(ThreadParking, AnUnparkWakesAllFollowers) {
    const std::unique_ptr<Parking> parking = thread_parking();
    std::thread followers[3];
    const std::uint64_t ticket = parking->ticket();
    for (std::thread& follower : followers) {
        follower = std::thread([&] { parking->park_follower(ticket, Parking::forever); });
    }
    parking->unpark_followers();
    for (std::thread& follower : followers) follower.join();
}

}  // namespace weft::test::parking_test
