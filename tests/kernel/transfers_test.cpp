// Rules 3 and 4: MSG_WAITALL with plain links, in segments of at most 128 KiB.
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/clock.h"
#include "tests/kernel/ring.h"

namespace weft::test::transfers_test {

constexpr std::uint64_t name = 7;
constexpr std::size_t segment_bytes = 128 << 10;

class WaitAll : public IoUring {};

TEST_F(WaitAll, TakesAMessageThatComesInPiecesAsAWhole) {
    Connection in;
    Connection out;
    Ring ring;
    const ByteVector sent = pattern(5000, 1);
    ByteVector passed(sent.size());
    ByteVector got(sent.size());
    List(ring, name).recv(in.far.get(), passed).send(out.near.get(), passed).start();
    for (std::size_t at = 0; at < sent.size(); at += 1000) {
        EXPECT_EQ(ring.next(1), std::nullopt) << "after " << at << " bytes";
        write_all(in.near.get(), std::span(sent).subspan(at, 1000));
    }
    EXPECT_EQ(ring.next(), (RingCompletion{name, 5000}));
    read_all(out.far.get(), got);
    EXPECT_EQ(got, sent);
}

TEST_F(WaitAll, SendsMoreThanTheSocketsHoldAsAWhole) {
    Connection wire;
    Ring ring;
    const ByteVector sent = pattern(16 << 20, 1);
    const Fd done = semaphore();
    List(ring, name).send(wire.near.get(), sent).give(done.get()).start();
    EXPECT_EQ(ring.next(silence_ms), std::nullopt) << "nobody has read, and it is sent";
    ByteVector got(sent.size());
    std::thread reader([&] { read_all(wire.far.get(), got); });
    EXPECT_EQ(ring.next(), (RingCompletion{name, sizeof(std::uint64_t)}));
    reader.join();
    EXPECT_TRUE(got == sent);
}

// A chain of a receive and a send whose peer goes away within the receive.
void expect_broken(Connection& in, std::size_t before, bool resets) {
    Connection out;
    Ring ring;
    ByteVector passed(5000);
    List(ring, name).recv(in.far.get(), passed).send(out.near.get(), passed).start();
    write_all(in.near.get(), pattern(before, 1));
    EXPECT_EQ(ring.next(silence_ms), std::nullopt);
    const linger at_once{1, 0};
    if (resets) {
        ASSERT_EQ(setsockopt(in.near.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    }
    in.near = Fd();
    const std::vector<RingCompletion> failed = ring.take(1);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_LT(failed[0].result, 5000);
    std::byte any{};
    EXPECT_EQ(recv(out.far.get(), &any, 1, MSG_DONTWAIT), -1) << "a message that is none passed";
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(WaitAll, BreaksTheChainWhereAMessageEndsShort) {
    for (const std::size_t before : {0, 1000}) {
        SCOPED_TRACE(before);
        Connection in;
        expect_broken(in, before, false);
    }
}

TEST_F(WaitAll, BreaksTheChainWhereTheConnectionIsReset) {
    Connection in;
    expect_broken(in, 1000, true);
}

TEST_F(WaitAll, BreaksTheChainOfASendToAPeerThatIsGone) {
    Connection wire;
    Ring ring;
    const ByteVector sent = pattern(16 << 20, 1);
    const Fd done = semaphore();
    List(ring, name).send(wire.near.get(), sent).give(done.get()).start();
    EXPECT_EQ(ring.next(silence_ms), std::nullopt);
    wire.far = Fd();
    const std::vector<RingCompletion> failed = ring.take(1);
    ASSERT_EQ(failed.size(), 1u);
    EXPECT_LT(failed[0].result, 16 << 20);
    std::uint64_t tokens = 0;
    EXPECT_EQ(read(done.get(), &tokens, sizeof tokens), -1) << "the chain went on";
}

class Segments : public IoUring {};

// ByteVector that have come and are not yet taken.
int unread(int fd) {
    int bytes = -1;
    EXPECT_EQ(ioctl(fd, FIONREAD, &bytes), 0);
    return bytes;
}

// A receive that is woken too often is moved to a worker thread, which then lives beside the
// program. A segment is woken once for each packet of an Ethernet at most.
TEST_F(Segments, NeedNoWorkerThreadThoughEachPacketWakesTheirReceive) {
    constexpr std::size_t packet_bytes = 1448;
    constexpr std::size_t segments = 4;
    Connection wire;
    Ring ring;
    ByteVector got(segments * segment_bytes);
    const ByteVector sent = pattern(got.size(), 1);
    List list(ring, name);
    for (std::size_t i = 0; i < segments; ++i) {
        list.recv(wire.far.get(), std::span(got).subspan(i * segment_bytes, segment_bytes));
    }
    list.start();
    const std::int64_t deadline_ns = now_ns() + std::int64_t{patience_ms} * 1'000'000;
    std::thread sender([&] {
        std::span<const std::byte> left(sent);
        while (!left.empty()) {
            const std::size_t bytes = std::min(packet_bytes, left.size());
            write_all(wire.near.get(), left.first(bytes));
            left = left.subspan(bytes);
            while (unread(wire.far.get()) > 0 && now_ns() < deadline_ns) std::this_thread::yield();
        }
    });
    EXPECT_EQ(ring.next(), (RingCompletion{name, segment_bytes}));
    sender.join();
    EXPECT_EQ(worker_threads(), 0);
    EXPECT_TRUE(got == sent);
}

}  // namespace weft::test::transfers_test
