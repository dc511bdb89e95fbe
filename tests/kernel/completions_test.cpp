// Rule 6: a list has exactly one completion, and after it nothing of the list is under way.
#include <sys/socket.h>

#include <cerrno>

#include "tests/kernel/ring.h"

namespace weft::test::completions_test {

constexpr std::uint64_t name = 7;
constexpr std::uint64_t canceler = 8;
constexpr std::size_t part = 100;

class OneCompletion : public IoUring {
  protected:
    void start(std::uint64_t list) {
        List entries(ring, list);
        for (std::size_t i = 0; i < 4; ++i) {
            entries.recv(wire.far.get(), std::span(got).subspan(i * part, part));
        }
        entries.start();
    }
    void expect_only(std::vector<RingCompletion> expected) {
        EXPECT_EQ(ring.take(expected.size()), expected);
    }

    Connection wire;
    Ring ring;
    ByteVector got = ByteVector(4 * part);
};

TEST_F(OneCompletion, InSuccess) {
    start(name);
    write_all(wire.near.get(), pattern(4 * part, 1));
    expect_only({{name, part}});
    EXPECT_EQ(got, pattern(4 * part, 1));
}

TEST_F(OneCompletion, OfTheEntryThatFailsWhicheverItIs) {
    for (std::size_t failing = 0; failing < 4; ++failing) {
        SCOPED_TRACE(failing);
        wire = Connection();
        start(name);
        write_all(wire.near.get(), pattern(failing * part + 10, 1));
        wire.near = Fd();
        expect_only({{name, 10}});
    }
}

TEST_F(OneCompletion, OfAListThatIsCanceledBeforeAnythingCame) {
    start(name);
    ring.cancel(name, canceler);
    const std::vector<RingCompletion> both = ring.take(2);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0], (RingCompletion{name, -ECANCELED}));
    EXPECT_EQ(both[1].list, canceler);
}

TEST_F(OneCompletion, OfAListThatIsCanceledInTheMiddleAndNothingIsWrittenAfterwards) {
    start(name);
    write_all(wire.near.get(), pattern(part + 10, 1));
    expect_only({});
    ring.cancel(name, canceler);
    const std::vector<RingCompletion> both = ring.take(2);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0].list, name);
    EXPECT_LT(both[0].result, static_cast<int>(part));
    EXPECT_EQ(both[1].list, canceler);

    const ByteVector before = got;
    const ByteVector later = pattern(4 * part, 2);
    write_all(wire.near.get(), later);
    expect_only({});
    EXPECT_EQ(got, before);
    ByteVector left(later.size());
    read_all(wire.far.get(), left);
    EXPECT_EQ(left, later) << "what came later stays in the socket";
}

TEST_F(OneCompletion, OfTheCanceledListAloneAmongOthers) {
    Connection other;
    ByteVector theirs(part);
    start(name);
    List(ring, name + 100).recv(other.far.get(), theirs).start();
    ring.cancel(name, canceler);
    EXPECT_EQ(ring.take(2).size(), 2u);
    write_all(other.near.get(), pattern(part, 3));
    EXPECT_EQ(ring.next(), (RingCompletion{name + 100, part}));
}

}  // namespace weft::test::completions_test
