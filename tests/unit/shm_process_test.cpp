// The shared-memory transport between processes: setting up, moving data, dying.
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "conformance/shm_traffic.h"
#include "support/test.h"
#include "transport/shm/connect.h"

namespace weft::test::shm_process_test {

int say(Rank rank, const char* what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    return 2;
}

// Ranks as child processes; the parent passes their cards around, as a launcher would. What it
// forges goes to the others, not to the card's owner.
class Job {
  public:
    using Body = std::function<int(Rank, ShmTransport&)>;
    using Forge = std::function<void(std::vector<std::string>&)>;
    using Failed = std::function<int(Rank, Status)>;

    Job(
        Rank ranks, Body body, Forge forge = [](std::vector<std::string>&) {},
        Failed failed = [](Rank rank, Status) { return say(rank, last_detail()); }) {
        std::vector<int> ends;
        for (Rank rank = 0; rank < ranks; ++rank) {
            int pair[2];
            EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
            const pid_t child = fork();
            if (child == 0) _exit(run(rank, ranks, pair[1], body, failed));
            close(pair[1]);
            children_.push_back(child);
            ends.push_back(pair[0]);
        }
        std::vector<std::string> cards;
        for (int end : ends) cards.push_back(receive(end));
        std::vector<std::string> forged = cards;
        forge(forged);
        for (std::size_t to = 0; to < ends.size(); ++to)
            for (std::size_t of = 0; of < cards.size(); ++of)
                send_text(ends[to], of == to ? cards[of] : forged[of]);  // unless it has ended
        for (int end : ends) close(end);
    }

    pid_t pid(Rank rank) const { return children_[static_cast<std::size_t>(rank)]; }

    // The rank's wait status; a rank that does not end is killed and gives SIGKILL's.
    int wait(Rank rank) {
        const std::int64_t deadline_ns = now_ns() + 60'000'000'000;
        int status = 0;
        while (waitpid(pid(rank), &status, WNOHANG) == 0) {
            if (now_ns() > deadline_ns) kill(pid(rank), SIGKILL);
            usleep(1000);
        }
        return status;
    }

    void expect_all_succeed() {
        for (std::size_t r = 0; r < children_.size(); ++r)
            EXPECT_EQ(wait(static_cast<Rank>(r)), 0) << "rank " << r;
    }

  private:
    static std::string receive(int fd) {
        char text[1024];
        const ssize_t length = recv(fd, text, sizeof text, 0);
        return std::string(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    }
    static bool send_text(int fd, const std::string& text) {
        return send(fd, text.data(), text.size(), MSG_NOSIGNAL) >= 0;
    }

    static int run(Rank rank, Rank ranks, int fd, const Body& body, const Failed& failed) {
        Result<std::unique_ptr<ShmNode>> node = ShmNode::prepare();
        if (!node.is_ok()) return say(rank, last_detail());
        send_text(fd, (*node)->card());
        std::vector<std::string> cards;
        for (Rank r = 0; r < ranks; ++r) cards.push_back(receive(fd));
        Result<std::unique_ptr<ShmTransport>> transport = (*node)->connect(rank, cards);
        if (!transport.is_ok()) return failed(rank, transport.status());
        const int code = body(rank, **transport);
        return ::testing::Test::HasFailure() ? 1 : code;
    }

    std::vector<pid_t> children_;
};

int play_traffic(Rank rank, ShmTransport& transport, TrafficShape shape) {
    Traffic traffic(transport, rank, shape);
    std::string stuck;
    if (traffic.play(stuck)) return 0;
    fprintf(stderr, "%s\n", stuck.c_str());
    return 3;
}

// Polls, asleep in between, until `count` completions have come; for at most 20 s.
std::vector<Completion> await(ShmTransport& transport, std::size_t count, bool sleeps) {
    const std::int64_t deadline_ns = now_ns() + 20'000'000'000;
    std::vector<Completion> all;
    while (all.size() < count && now_ns() < deadline_ns) {
        Completion reported[4];
        const std::size_t n = transport.poll(reported);
        all.insert(all.end(), reported, reported + n);
        if (n > 0 || !sleeps || !transport.arm(Sleeper::waiter)) continue;
        pollfd fd{transport.wait_fd(Sleeper::waiter), POLLIN, 0};
        if (::poll(&fd, 1, 20'000) == 1) transport.acknowledge(Sleeper::waiter);
    }
    return all;
}

TEST(ShmProcess, traffic_between_processes) {
    for (const char* method : {"ring", "vm_readv"}) {
        setenv("WEFT_SHM_LARGE", method, 1);
        for (Rank ranks : {1, 2, 4}) {
            SCOPED_TRACE(std::string(method) + ", " + std::to_string(ranks) + " ranks");
            Job job(ranks, [&](Rank rank, ShmTransport& transport) {
                if (ranks == 1) return 0;
                const TrafficShape shape{.ranks = ranks, .bytes_max = 1'000'000, .seed = 5};
                const int code = play_traffic(rank, transport, shape);
                const ShmTransport::Counters& counters = transport.counters();
                if (counters.vm_readv_refusals > 0) return code;  // this machine forbids it
                EXPECT_EQ(counters.large_by_ring > 0, std::string(method) == "ring");
                EXPECT_EQ(counters.large_by_vm_readv > 0, std::string(method) == "vm_readv");
                return code;
            });
            job.expect_all_succeed();
        }
    }
    unsetenv("WEFT_SHM_LARGE");
}

TEST(ShmProcess, more_ranks_than_a_node_has_cores) {
    Job job(13, [](Rank rank, ShmTransport& transport) {
        const TrafficShape shape{.ranks = 13, .lanes = 1, .messages = 3, .seed = 9};
        return play_traffic(rank, transport, shape);
    });
    job.expect_all_succeed();
}

TEST(ShmProcess, ranks_with_foreign_cards_are_not_reachable) {
    Job job(
        3,
        [](Rank rank, ShmTransport& transport) {
            EXPECT_FALSE(transport.reachable(1));
            EXPECT_TRUE(transport.reachable(2 - rank));
            return 0;
        },
        [](std::vector<std::string>& cards) { cards[1] = "weft-shm-2/elsewhere/1/x/y"; });
    EXPECT_EQ(job.wait(0), 0);
    EXPECT_EQ(job.wait(2), 0);
    EXPECT_NE(job.wait(1), 0) << "it calls ranks that do not expect it";
}

TEST(ShmProcess, a_rank_with_a_wrong_key_is_not_believed) {
    const std::int64_t start_ns = now_ns();
    Job job(
        2, [](Rank, ShmTransport&) { return 0; },
        [](std::vector<std::string>& cards) {
            // Rank 1 greets rank 0 with a key that is not rank 0's.
            char& last = cards[0].back();
            last = last == '0' ? '1' : '0';
        });
    EXPECT_NE(job.wait(1), 0) << "rank 0 hangs up on it";
    kill(job.pid(0), SIGKILL);
    job.wait(0);
    EXPECT_LT(now_ns() - start_ns, 20'000'000'000);
}

TEST(ShmProcess, a_rank_that_ends_before_the_swap_is_not_waited_for) {
    for (bool reaped : {false, true}) {
        SCOPED_TRACE(reaped);
        const std::int64_t start_ns = now_ns();
        Job job(
            3, [](Rank, ShmTransport&) { return 0; },
            [&](std::vector<std::string>& cards) {
                const pid_t victim = shm::Card::parse(cards[2])->pid;
                kill(victim, SIGKILL);
                siginfo_t ended;
                const auto id = static_cast<id_t>(victim);
                EXPECT_EQ(waitid(P_PID, id, &ended, reaped ? WEXITED : WEXITED | WNOWAIT), 0);
            });
        EXPECT_NE(job.wait(0), 0);
        EXPECT_NE(job.wait(1), 0);
        if (!reaped) job.wait(2);
        EXPECT_LT(now_ns() - start_ns, 20'000'000'000) << "they waited until patience ended";
    }
}

int exit_code(int wait_status) { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1; }

rlim_t first_free_descriptor(pid_t pid) {
    rlim_t fd = 0;
    const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
    while (std::filesystem::is_symlink(folder + std::to_string(fd))) ++fd;
    return fd;
}

// Rank 1 is left with fewer descriptors than it needs, from none more on, and lives on when it has
// failed: nobody may wait for it until patience ends.
TEST(ShmProcess, a_rank_without_descriptors_says_so_and_is_not_waited_for) {
    constexpr int joined = 0, refused = 8, reported = 9;
    const std::int64_t start_ns = now_ns();
    int refusals = 0;
    for (rlim_t more = 0;; more += 2) {
        SCOPED_TRACE(more);
        ASSERT_LT(more, 100u);
        Job job(
            4, [](Rank, ShmTransport&) { return joined; },
            [&](std::vector<std::string>& cards) {
                const pid_t pid = shm::Card::parse(cards[1])->pid;
                const rlim_t most = first_free_descriptor(pid) + more;
                const rlimit limit{most, most};
                EXPECT_EQ(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
            },
            [](Rank rank, Status status) {
                const std::string detail = last_detail();
                if (rank != 1)
                    return status.code == WEFT_BROKEN_RANK ? reported : say(rank, detail.c_str());
                if (status.code != WEFT_REFUSED_MEMORY ||
                    detail.find("descriptor") == std::string::npos)
                    return say(rank, detail.c_str());
                pause();
                return refused;
            });
        for (Rank rank : {0, 2, 3}) {
            const int code = exit_code(job.wait(rank));
            EXPECT_TRUE(code == joined || code == reported) << "rank " << rank << ": " << code;
        }
        kill(job.pid(1), SIGKILL);
        const int code = exit_code(job.wait(1));
        EXPECT_TRUE(code == joined || code == -1) << code;
        if (code == joined) break;
        ++refusals;
    }
    EXPECT_GT(refusals, 0);
    EXPECT_LT(now_ns() - start_ns, 20'000'000'000) << "they waited until patience ended";
}

TEST(ShmProcess, a_killed_rank_is_reported_to_sleepers_and_pollers) {
    for (bool sleeps : {true, false}) {
        SCOPED_TRACE(sleeps);
        Job job(3, [&](Rank rank, ShmTransport& transport) {
            std::vector<std::byte> data(5'000'000), got(data.size());  // more than a ring holds
            const Lane to_1{1, {1, 0}}, from_1{1, {1, 1}}, from_0{0, {1, 0}};
            if (rank == 1) {
                // Die in the middle of a large message.
                transport.post_recv(from_0, got, {&got, 1});
                for (int i = 0; i < 3; ++i) {
                    Completion reported[1];
                    (void)transport.poll(reported);
                }
                raise(SIGKILL);
            }
            if (rank == 0) transport.post_send(to_1, data, {&data, 1});
            if (rank == 2) transport.post_recv(from_1, got, {&got, 1});
            const std::vector<Completion> reported = await(transport, 2, sleeps);
            std::size_t broken = 0, losses = 0;
            for (const Completion& completion : reported) {
                EXPECT_EQ(completion.peer, 1);
                if (completion.token.run == nullptr) ++losses;
                if (completion.code == WEFT_BROKEN_RANK) ++broken;
            }
            EXPECT_EQ(reported.size(), 2u);
            EXPECT_EQ(losses, 1u);
            EXPECT_EQ(broken, 2u);
            return 0;
        });
        EXPECT_EQ(job.wait(0), 0);
        EXPECT_EQ(job.wait(2), 0);
        EXPECT_TRUE(WIFSIGNALED(job.wait(1)));
    }
}

TEST(ShmProcess, what_a_rank_sent_before_it_left_arrives) {
    Job job(2, [](Rank rank, ShmTransport& transport) {
        std::vector<std::byte> data(1000, std::byte{7}), got(1000);
        if (rank == 1) {
            EXPECT_EQ(transport.post_send({0, {1, 0}}, data, {&data, 1}), Posted::done);
            return 0;
        }
        usleep(50'000);
        EXPECT_EQ(transport.post_recv({1, {1, 0}}, got, {&got, 1}), Posted::pending);
        const std::vector<Completion> reported = await(transport, 1, true);
        EXPECT_EQ(reported.size(), 1u);
        if (reported.empty()) return 1;
        EXPECT_EQ(reported[0].code, WEFT_OK);
        EXPECT_TRUE(data == got);
        return 0;
    });
    job.expect_all_succeed();
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) ++count;
    closedir(folder);
    return count;
}

TEST(ShmProcess, a_sleeping_rank_takes_no_processor_time_and_closes_what_it_opened) {
    const std::size_t before = open_descriptors();
    Job job(2, [&](Rank rank, ShmTransport& transport) {
        std::vector<std::byte> data(8);
        if (rank == 1) {
            usleep(300'000);
            transport.post_send({0, {1, 0}}, data, {&data, 1});
            return 0;
        }
        transport.post_recv({1, {1, 0}}, data, {&data, 1});
        rusage used_before{}, used{};
        getrusage(RUSAGE_SELF, &used_before);
        const std::vector<Completion> reported = await(transport, 1, true);
        getrusage(RUSAGE_SELF, &used);
        EXPECT_EQ(reported.size(), 1u);
        EXPECT_LE(used.ru_nvcsw - used_before.ru_nvcsw, 5);
        return 0;
    });
    job.expect_all_succeed();
    EXPECT_EQ(open_descriptors(), before);
}

TEST(ShmProcess, a_transport_leaves_no_descriptor_open) {
    const std::size_t before = open_descriptors();
    {
        Result<std::unique_ptr<ShmNode>> node = ShmNode::prepare();
        ASSERT_TRUE(node.is_ok());
        const std::vector<std::string> cards{(*node)->card()};
        ASSERT_TRUE((*node)->connect(0, cards).is_ok());
    }
    EXPECT_EQ(open_descriptors(), before);
}

// A limit of the size of files, while it lives.
class FileLimit {
  public:
    explicit FileLimit(rlim_t bytes) {
        EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
        const rlimit limit{bytes, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

  private:
    rlimit before_{};
};

TEST(ShmProcess, a_limit_of_the_size_of_files_is_refused_without_a_signal) {
    const FileLimit limit(65536);
    auto segment = shm::Segment::create({.rings = 2, .ring_bytes = 1 << 20});
    ASSERT_FALSE(segment.is_ok());
    EXPECT_EQ(segment.status().code, WEFT_REFUSED_MEMORY);
    EXPECT_NE(std::string(last_detail()).find("larger than 65536 bytes"), std::string::npos)
        << last_detail();
    sigset_t blocked, pending;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    sigpending(&pending);
    EXPECT_EQ(sigismember(&blocked, SIGXFSZ), 0);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST(ShmProcess, a_signal_that_was_pending_before_stays_so) {
    sigset_t one, before, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    raise(SIGXFSZ);
    {
        const FileLimit limit(65536);
        EXPECT_FALSE(shm::Segment::create({.rings = 2, .ring_bytes = 1 << 20}).is_ok());
    }
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), 1);
    const timespec at_once{};
    sigtimedwait(&one, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace weft::test::shm_process_test
