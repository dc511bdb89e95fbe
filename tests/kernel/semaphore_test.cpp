// Rule 2: between lists, an eventfd in semaphore mode that does not block is wait and enable.
#include "tests/kernel/ring.h"

namespace weft::test::semaphore_test {

constexpr std::uint64_t waiting = 1;
constexpr std::uint64_t finishing = 2;
constexpr int token = sizeof(std::uint64_t);

class Semaphore : public IoUring {};

TEST_F(Semaphore, HoldsAListUntilAnotherOneEnds) {
    Connection in;
    Connection out;
    Ring ring;
    const Fd enable = semaphore();
    ByteVector first(1000);
    ByteVector second(500);
    const ByteVector answer = pattern(300, 1);
    // What the waiting list sends depends on both receives of the other.
    List(ring, waiting).take(enable.get()).take(enable.get()).send(out.near.get(), answer).start();
    List(ring, finishing)
        .recv(in.far.get(), first)
        .give(enable.get())
        .recv(in.far.get(), second)
        .give(enable.get())
        .start();

    write_all(in.near.get(), pattern(1200, 2));
    EXPECT_EQ(ring.next(silence_ms), std::nullopt) << "one token is not enough";
    write_all(in.near.get(), pattern(300, 3));
    const std::vector<RingCompletion> both = {{waiting, static_cast<int>(answer.size())},
                                              {finishing, token}};
    EXPECT_EQ(ring.take(2), both);
    ByteVector got(answer.size());
    read_all(out.far.get(), got);
    EXPECT_EQ(got, answer);
}

TEST_F(Semaphore, KeepsTokensThatComeBeforeTheirWaiter) {
    Ring ring;
    const Fd enable = semaphore();
    List(ring, finishing).give(enable.get()).give(enable.get()).start();
    EXPECT_EQ(ring.next(), (RingCompletion{finishing, token}));
    List(ring, waiting).take(enable.get()).take(enable.get()).start();
    EXPECT_EQ(ring.next(), (RingCompletion{waiting, token}));
    List(ring, waiting).take(enable.get()).start();
    EXPECT_EQ(ring.next(silence_ms), std::nullopt) << "a token served twice";
}

TEST_F(Semaphore, NeedsNoWorkerThreadWhileListsWaitAndWhenTheyGoOn) {
    constexpr std::uint64_t lists = 64;
    Ring ring;
    std::vector<Fd> joins;
    for (std::uint64_t i = 0; i <= lists; ++i) joins.push_back(semaphore());
    for (std::uint64_t i = 0; i < lists; ++i) {
        List(ring, i).take(joins[i].get()).give(joins[i + 1].get()).start();
    }
    EXPECT_EQ(ring.next(silence_ms), std::nullopt);
    EXPECT_EQ(worker_threads(), 0);
    List(ring, lists).give(joins[0].get()).start();
    for (std::uint64_t i = 0; i <= lists; ++i) {
        const std::optional<RingCompletion> done = ring.next();
        ASSERT_TRUE(done);
        EXPECT_EQ(done->result, token) << "list " << done->list;
    }
    EXPECT_EQ(worker_threads(), 0);
}

}  // namespace weft::test::semaphore_test
