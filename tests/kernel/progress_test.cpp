// Rules 5, 7 and 8: in whose context chains advance, and what that does to it.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/kernel/ring.h"

namespace weft::test::progress_test {

constexpr std::uint64_t name = 7;

class Progress : public IoUring {};

bool is_readable(int fd) {
    pollfd one{fd, POLLIN, 0};
    int ready = -1;
    while ((ready = poll(&one, 1, patience_ms)) < 0 && errno == EINTR) {
    }
    return ready == 1;
}

// Asleep in the operating system, as /proc/self/task/<thread>/stat says.
bool sleeps(pid_t thread) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t name_end = line.rfind(')');
    return name_end != line.npos && line.substr(name_end + 2, 1) == "S";
}

TEST_F(Progress, GoesOnWhileTheThreadThatSubmittedMakesNoCall) {
    Connection in;
    Connection out;
    const ByteVector sent = pattern(256 << 10, 1);
    ByteVector passed(sent.size());
    std::atomic<bool> is_submitted = false;
    std::atomic<bool> may_end = false;
    std::optional<RingCompletion> done;
    std::thread computing([&] {
        Ring ring;
        List list(ring, name);
        for (std::size_t at = 0; at < sent.size(); at += sent.size() / 2) {
            const auto segment = std::span(passed).subspan(at, sent.size() / 2);
            list.recv(in.far.get(), segment).send(out.near.get(), segment);
        }
        list.start();
        is_submitted = true;
        while (!may_end) {
        }
        done = ring.next(0);
    });
    EXPECT_TRUE(eventually([&] { return is_submitted.load(); }));
    ByteVector got(sent.size());
    std::thread sender([&] { write_all(in.near.get(), sent); });
    read_all(out.far.get(), got);
    sender.join();
    may_end = true;
    computing.join();
    EXPECT_TRUE(got == sent);
    EXPECT_EQ(done, (RingCompletion{name, static_cast<int>(sent.size() / 2)}));
}

TEST_F(Progress, EndsWithTheThreadThatSubmitted) {
    Connection in;
    Connection out;
    Ring ring;
    ByteVector passed(1000);
    std::thread([&] {
        List(ring, name).recv(in.far.get(), passed).send(out.near.get(), passed).start();
    }).join();
    EXPECT_EQ(ring.next(silence_ms), std::nullopt) << "it is found out when a step is due";

    const ByteVector sent = pattern(1000, 1);
    write_all(in.near.get(), sent);
    EXPECT_EQ(ring.take(1), (std::vector{RingCompletion{name, -ECANCELED}}));
    ByteVector left(sent.size());
    read_all(in.far.get(), left);
    EXPECT_EQ(left, sent) << "what came stays in the socket";
    EXPECT_EQ(passed, ByteVector(1000));
}

TEST_F(Progress, OfAThreadThatHasExitedCanBeCanceledByAnother) {
    Connection in;
    Ring ring;
    ByteVector got(1000);
    std::thread([&] { List(ring, name).recv(in.far.get(), got).start(); }).join();
    ring.cancel(name, name + 1);
    const std::vector<RingCompletion> both = ring.take(2);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0], (RingCompletion{name, -ECANCELED}));
}

// What a thread in epoll_wait sees of a chain that takes a step and completes meanwhile. The chain
// is submitted by that thread, or by another one that sleeps.
struct Seen {
    int events = 0;
    int error = 0;
};

Seen epoll_while_a_chain_advances(bool submits_itself) {
    Connection in;
    Connection out;
    Ring ring;
    ByteVector passed(1000);
    const Fd end = semaphore();
    const auto submit = [&] {
        List(ring, name).recv(in.far.get(), passed).send(out.near.get(), passed).start();
    };
    std::atomic<pid_t> waiting = 0;
    Seen seen;
    std::thread program([&] {
        const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
        epoll_event event{};
        event.events = EPOLLIN;
        EXPECT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, end.get(), &event), 0);
        if (submits_itself) submit();
        waiting = static_cast<pid_t>(syscall(SYS_gettid));
        seen.events = epoll_wait(epoll.get(), &event, 1, patience_ms);
        seen.error = seen.events < 0 ? errno : 0;
    });
    EXPECT_TRUE(eventually([&] { return waiting != 0 && sleeps(waiting); }));
    std::thread helper;
    std::atomic<bool> is_submitted = submits_itself;
    if (!submits_itself) {
        helper = std::thread([&] {
            submit();
            is_submitted = true;
            EXPECT_EQ(ring.next(), (RingCompletion{name, 1000}));
        });
    }
    EXPECT_TRUE(eventually([&] { return is_submitted.load(); }));
    write_all(in.near.get(), pattern(1000, 1));
    EXPECT_TRUE(is_readable(out.far.get()));
    const std::uint64_t token = 1;
    EXPECT_EQ(write(end.get(), &token, sizeof token), static_cast<ssize_t>(sizeof token));
    program.join();
    if (helper.joinable()) helper.join();
    return seen;
}

TEST_F(Progress, InterruptsTheWaitsOfTheThreadThatSubmitted) {
    const Seen seen = epoll_while_a_chain_advances(true);
    EXPECT_EQ(seen.events, -1);
    EXPECT_EQ(seen.error, EINTR);
}

TEST_F(Progress, InterruptsNoWaitOfAnotherThread) {
    const Seen seen = epoll_while_a_chain_advances(false);
    EXPECT_EQ(seen.events, 1);
    EXPECT_EQ(seen.error, 0);
}

// The end of a ring interrupts the thread that made it once more, a little later. So a ring that only
// tries whether there is io_uring does not belong into a program's thread.
TEST_F(Progress, ThatEndsWithItsRingInterruptsNoWaitOfAnotherThread) {
    std::thread([] {
        const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
        epoll_event event{};
        std::thread([] { Ring ring; }).join();
        EXPECT_EQ(epoll_wait(epoll.get(), &event, 1, silence_ms), 0) << std::strerror(errno);
    }).join();
}

}  // namespace weft::test::progress_test
