// How ranks join where no launcher serves their cards: rank 0 does, at an address that the environment names. On this
// machine, and between emulated nodes in the situations that real ones have. This executable is both the test and the
// program of a rank: with --rank and --meet it exchanges cards, with --join it also computes.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <thread>

#include "base/setting.h"
#include "startup/call_host.h"
#include "startup/key_value.h"
#include "startup/numbered.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"
#include "tcp/handshake.h"
#include "tests/tools/startup_rank.h"
#include "weft/weft.h"

namespace weft::test::startup_network_test {

const std::string no_key =
    "weft: WEFT_JOB_KEY is not set: ranks authenticate each other by public names";

// --- As a rank -----------------------------------------------------------------------------------

#define MUST(call) \
    if ((call) != WEFT_OK) return say_and_fail(weft_last_detail())

int join_and_compute() {
    int rank = -1;
    int ranks = 0;
    MUST(weft_init());
    const weft_comm world = weft_comm_world();
    MUST(weft_comm_rank(world, &rank));
    MUST(weft_comm_size(world, &ranks));
    std::vector<int> all(static_cast<std::size_t>(ranks));
    const int mine = 7 * rank;
    MUST(weft_allgather(&mine, all.data(), 1, WEFT_INT32, world));
    for (int r = 0; r < ranks; ++r)
        if (all[static_cast<std::size_t>(r)] != 7 * r) return say_and_fail("a wrong result");
    MUST(weft_alltoall(std::vector<int>(all).data(), all.data(), 1, WEFT_INT32, world));
    MUST(weft_barrier(world));
    std::printf("%d of %d\n", rank, ranks);
    MUST(weft_finalize());
    return 0;
}

// Only what a start does over the network.
int meet() {
    auto startup = startup_from_environment();
    if (!startup.is_ok() || !(*startup)->own_address().is_ok()) return say_and_fail(last_detail());
    const auto card = [](Rank rank) {
        return std::string(600, static_cast<char>('a' + rank % 26));
    };
    const auto cards = (*startup)->exchange(card((*startup)->rank()));
    if (!cards.is_ok()) return say_and_fail(last_detail());
    for (Rank rank = 0; rank < (*startup)->ranks(); ++rank)
        if ((*cards)[static_cast<std::size_t>(rank)] != card(rank))
            return say_and_fail("a wrong card");
    return 0;
}

// A socket that listens at the port, in both families; -1: it cannot.
int listen_at(std::uint16_t port) {
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int no = 0;
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 || listen(fd, 64) != 0)
        return -1;
    return fd;
}

// --- On this machine -----------------------------------------------------------------------------

// Rank 0's first port is so far behind MASTER_PORT.
constexpr int ports_for_stores = 10;

// A first port of several that are free, below those that the kernel gives to callers. (Tests run at the same time.)
int free_ports() {
    static int next = 0;
    for (int i = 0; i < 500; ++i) {
        const int first = 20'000 + (getpid() * 40 + 20 * next++) % 10'000;
        int free = 0;
        for (int port = first; port < first + ports_for_stores + 8; ++port) {
            const int fd = listen_at(static_cast<std::uint16_t>(port));
            free += fd >= 0;
            close(fd);
        }
        if (free == ports_for_stores + 8) return first;
    }
    return 0;
}

using Started = std::unique_ptr<ChildProcess>;

class StartupNetwork : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    }

    // A rank of torchrun's kind. `settings`: further variables; they come last.
    Started torch(int rank, int ranks, const std::string& behaviour = "exchange",
                  const std::string& settings = "") const {
        return std::make_unique<ChildProcess>(
            "RANK=" + std::to_string(rank) + " WORLD_SIZE=" + std::to_string(ranks) +
            " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) + " " + settings +
            " exec " + own_path + " --rank " + behaviour);
    }

    static void expect_joined(ChildProcess& rank) {
        rank.finish();
        EXPECT_EQ(rank.status, 0) << rank.err;
    }

    static void expect_refused(ChildProcess& rank, const std::string& sentence) {
        rank.finish();
        EXPECT_EQ(rank.status, 1) << rank.out;
        EXPECT_TRUE(contains(rank.err, sentence));
    }

    // Waits until rank 0 listens behind the job's port.
    void wait_for_rank_0() const { close(call(first_port_)); }

    static bool has_exited(const ChildProcess& rank) {
        siginfo_t info{};
        return waitid(P_PID, static_cast<id_t>(rank.pid()), &info, WEXITED | WNOWAIT | WNOHANG) ==
                   0 &&
               info.si_pid == rank.pid();
    }

    // Connects to the port of this machine; -1: nobody listens there.
    static int try_call(int port) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
        close(fd);
        return -1;
    }

    // Connects to rank 0, which listens at the port, and says nothing.
    static int call(int port) {
        int fd = -1;
        EXPECT_TRUE(becomes_true([&] { return (fd = try_call(port)) >= 0; }))
            << "rank 0 does not listen";
        return fd;
    }

    const int port_ = free_ports();
    const int first_port_ = port_ + ports_for_stores;  // of rank 0
};

TEST_F(StartupNetwork, EveryRankGetsEveryCardAndTheKeyOfItsJobAlone) {
    std::set<std::string> all{hex(JobKey{}) + "\n"};
    for (int ranks : {2, 3, 16}) {
        std::vector<Started> started;
        for (int rank = ranks - 1; rank >= 0; --rank) started.push_back(torch(rank, ranks, "key"));
        std::set<std::string> keys;
        for (const Started& rank : started) {
            expect_joined(*rank);
            keys.insert(rank->out);
            EXPECT_EQ(rank->err.find(no_key) != rank->err.npos, &rank == &started.back())
                << "rank 0 alone says it: " << rank->err;
        }
        EXPECT_EQ(keys.size(), 1u);
        all.merge(keys);
    }
    EXPECT_EQ(all.size(), 4u) << "each job has its own";
}

TEST_F(StartupNetwork, ManyRanksJoin) {
    const std::string ranks = runs_all() ? "256" : "64";
    expect_success("rank=0; while [ $rank -lt " + ranks + " ]; do RANK=$rank WORLD_SIZE=" + ranks +
                   " MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) + " " + own_path +
                   " --meet & pids=\"$pids $!\"; rank=$((rank + 1)); done; "
                   "for pid in $pids; do wait $pid || exit; done");
}

TEST_F(StartupNetwork, WeftsOwnVariablesNameThePlace) {
    for (const std::string host :
         {"127.0.0.1", "localhost", "[::1]", "no.such.host.invalid,127.0.0.1"}) {
        if (host == "[::1]" && content("/proc/net/if_inet6").empty()) continue;
        std::vector<Started> started;
        for (const char* rank : {"0", "1", "2"})
            // WORLD_SIZE is another launcher's, further out.
            started.push_back(std::make_unique<ChildProcess>(
                "WEFT_STARTUP=tcp://" + host + ":" + std::to_string(port_) +
                " WEFT_RANKS=3 WEFT_RANK=" + rank +
                " WORLD_SIZE=2 RANK=0 MASTER_ADDR=nowhere WEFT_STATS=1 exec " + own_path +
                " --join"));
        for (const Started& rank : started) {
            expect_joined(*rank);
            EXPECT_TRUE(contains(rank->out, " of 3\n"));
            EXPECT_TRUE(contains(rank->err, "; started by WEFT_STARTUP, tcp://" + host));
        }
    }
}

TEST_F(StartupNetwork, InfoAndStatisticsSayWhatStartedTheRanks) {
    const std::string job =
        "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(port_) + " ";
    const std::string source =
        "RANK and WORLD_SIZE, as torchrun sets them: MASTER_ADDR = '127.0.0.1', MASTER_PORT = " +
        std::to_string(port_) + "\n";
    const std::string info = WEFT_BUILD_DIR "/weft info";
    ChildProcess one(job + "RANK=1 WEFT_STATS=1 exec " + info);
    const Finished zero = expect_success(job + "RANK=0 WEFT_STATS=1 exec " + info);
    expect_joined(one);
    EXPECT_TRUE(contains(zero.out, source));
    EXPECT_TRUE(contains(one.err, "; started by " + source));
    EXPECT_TRUE(contains(run(info).out, "none, a job of one rank\n"));
}

TEST_F(StartupNetwork, ASecretKeepsOthersOut) {
    const std::string secret = "WEFT_JOB_KEY=0123456789abcdef";
    std::vector<Started> started;
    started.push_back(torch(0, 2, "key", secret));
    wait_for_rank_0();
    for (const char* other : {"WEFT_JOB_KEY=0123456789abcdeg", "WEFT_JOB_KEY="}) {
        Started stranger = torch(1, 2, "key", std::string(other) + " WEFT_STARTUP_TIMEOUT=0.5");
        expect_refused(*stranger, "another job is there, or WEFT_JOB_KEY differs");
    }
    started.push_back(torch(1, 2, "key", secret));
    for (const Started& rank : started) {
        expect_joined(*rank);
        EXPECT_EQ(rank->err, "");
        EXPECT_EQ(rank->out, started.front()->out);
    }
    Started guessable = torch(0, 2, "key", "WEFT_JOB_KEY=short");
    Started one = torch(1, 2, "key", "WEFT_JOB_KEY=short");
    for (const Started* rank : {&guessable, &one}) expect_joined(**rank);
    EXPECT_TRUE(contains(guessable->err, "weft: WEFT_JOB_KEY has only 5 characters"));
    EXPECT_EQ(one->err, "");
}

// By mistake: another size, another run, another port of the same host.
TEST_F(StartupNetwork, ARankOfAnotherJobIsRefused) {
    Started zero = torch(0, 2);
    wait_for_rank_0();
    for (const std::string& other :
         {std::string("WORLD_SIZE=3"), std::string("TORCHELASTIC_RUN_ID=next"),
          "MASTER_PORT=" + std::to_string(port_ - 1)}) {
        Started one = torch(1, 2, "exchange", other + " WEFT_STARTUP_TIMEOUT=0.3");
        expect_refused(
            *one, "rank 1 could not reach rank 0 at MASTER_ADDR = '127.0.0.1', MASTER_PORT = ");
    }
    Started one = torch(1, 2);
    for (const Started* rank : {&zero, &one}) expect_joined(**rank);
}

TEST_F(StartupNetwork, StrangersThatSayNothingHoldNobodyUp) {
    // One has the program's own store, one rank 0's first port, and others call rank 0.
    const int own_store = listen_at(static_cast<std::uint16_t>(port_));
    const int first = listen_at(static_cast<std::uint16_t>(first_port_));
    ASSERT_GE(std::min(own_store, first), 0);
    Started zero = torch(0, 3);
    std::vector<int> callers;
    for (int i = 0; i < 200; ++i) callers.push_back(call(first_port_ + 1));
    Started one = torch(1, 3);
    Started two = torch(2, 3);
    for (const Started* rank : {&zero, &one, &two}) expect_joined(**rank);
    for (const int fd : callers) close(fd);
    close(own_store);
    close(first);
}

TEST_F(StartupNetwork, ASecondRankOfTheSameNumberIsRefused) {
    Started zero = torch(0, 3);
    Started one = torch(1, 3);
    // Whoever comes first is the rank.
    Started again = torch(1, 3, "exchange", "WEFT_STARTUP_TIMEOUT=20");
    ASSERT_TRUE(becomes_true([&] { return has_exited(*one) || has_exited(*again); }));
    ChildProcess& refused = has_exited(*one) ? *one : *again;
    ChildProcess& joined = has_exited(*one) ? *again : *one;
    expect_refused(refused, "rank 1 has already joined: another process has this number");
    Started two = torch(2, 3);
    expect_joined(joined);
    for (const Started* rank : {&zero, &two}) expect_joined(**rank);
}

TEST_F(StartupNetwork, EveryRankNamesTheOneThatIsMissing) {
    std::vector<Started> ranks;
    for (int rank : {0, 1, 3})
        ranks.push_back(torch(rank, 4, "exchange", "WEFT_STARTUP_TIMEOUT=2"));
    for (const Started& rank : ranks)
        expect_refused(
            *rank, "rank 2 had not joined after 2 s; WEFT_STARTUP_TIMEOUT sets how long to wait");
}

TEST_F(StartupNetwork, RankZeroIsMissedWithWhatWasTried) {
    Started one = torch(1, 2, "exchange", "WEFT_STARTUP_TIMEOUT=0.3");
    expect_refused(
        *one, "rank 1 could not reach rank 0 at MASTER_ADDR = '127.0.0.1', MASTER_PORT = " +
                  std::to_string(port_) + ", ports " + std::to_string(first_port_) + " to " +
                  std::to_string(first_port_ + 7) + ", in 0.3 s (127.0.0.1: Connection refused)");
    Started nowhere =
        torch(1, 2, "exchange", "MASTER_ADDR=no.such.host.invalid WEFT_STARTUP_TIMEOUT=0.3");
    expect_refused(*nowhere, "the host 'no.such.host.invalid' ");
}

TEST_F(StartupNetwork, RankZeroListensOnlyUntilAllHaveJoined) {
    const Folder folder;
    const std::string has_joined = folder / "rank 0";
    std::vector<Started> ranks;
    for (int rank : {0, 1, 2}) ranks.push_back(torch(rank, 3, "joined:'" + has_joined + "'"));
    ASSERT_TRUE(becomes_true([&] { return pid_in(has_joined) > 0; }));
    for (int port = first_port_; port < first_port_ + 8; ++port)
        EXPECT_EQ(try_call(port), -1) << port;
}

TEST_F(StartupNetwork, ARankThatDiesWhileItJoinsIsNamedAtOnce) {
    Started zero = torch(0, 2, "die-later");
    Started one = torch(1, 2, "die-later");
    expect_refused(*zero, "rank 1 ended before it joined the job");
    one->finish();
    EXPECT_EQ(one->status, 128 + SIGKILL);
}

// By their launchers, twice at the same time: otherwise the ranks of both would be mixed without a word.
TEST_F(StartupNetwork, ASecondJobOfTheSameNamesIsRefused) {
    Started zero = torch(0, 2);
    wait_for_rank_0();
    Started again = torch(0, 2, "exchange", "WEFT_STARTUP_TIMEOUT=1");
    expect_refused(*again, "another job of the same names is starting on this host, at port " +
                               std::to_string(first_port_));
    Started one = torch(1, 2);
    for (const Started* rank : {&zero, &one}) expect_joined(**rank);
}

// As operators of Kubernetes do, the first node may call itself localhost.
TEST_F(StartupNetwork, RanksMayCallTheFirstHostOtherwise) {
    Started zero = torch(0, 2, "exchange", "MASTER_ADDR=localhost");
    Started one = torch(1, 2, "exchange", "WEFT_STARTUP_TIMEOUT=5");
    for (const Started* rank : {&zero, &one}) expect_joined(**rank);
    std::vector<Started> by_weft;
    for (const char* place : {"WEFT_RANK=0 WEFT_STARTUP=tcp://localhost:",
                              "WEFT_RANK=1 WEFT_STARTUP_TIMEOUT=5 WEFT_STARTUP=tcp://127.0.0.1:"})
        by_weft.push_back(std::make_unique<ChildProcess>("WEFT_RANKS=2 " +
                                                         (place + std::to_string(port_)) +
                                                         " exec " + own_path + " --rank exchange"));
    for (const Started& rank : by_weft) expect_joined(*rank);
}

TEST_F(StartupNetwork, RankZeroWithoutStandardStreamsPrintsIntoNoSocket) {
    Started zero = torch(0, 2, "exchange >&- 2>&-");
    Started one = torch(1, 2);
    for (const Started* rank : {&zero, &one}) expect_joined(**rank);
}

TEST_F(StartupNetwork, RankZeroSaysThatItHasNoDescriptorForOthers) {
    ChildProcess zero(
        "ulimit -n 10; RANK=0 WORLD_SIZE=12 WEFT_STARTUP_TIMEOUT=1 "
        "MASTER_ADDR=127.0.0.1 MASTER_PORT=" +
        std::to_string(port_) + " exec " + own_path + " --rank exchange");
    std::vector<Started> others;
    for (int rank = 1; rank < 12; ++rank)
        others.push_back(torch(rank, 12, "exchange", "WEFT_STARTUP_TIMEOUT=1"));
    expect_refused(zero, "weft: rank 0 cannot accept another rank's call: ");
    EXPECT_TRUE(contains(zero.err, "ulimit -n"));
    for (const Started& rank : others) rank->finish();
}

// Rank 0 drops callers when there are many, perhaps before it has read a rank's proof.
TEST_F(StartupNetwork, ACallThatRankZeroDropsBeforeItAnswersIsMadeAgain) {
    const JobKey key{};
    const auto port = static_cast<std::uint16_t>(port_);
    const Fd listener(listen_at(port));
    ASSERT_TRUE(listener);
    Result<Fd> joined = failure(WEFT_REFUSED_STATE, "it has not called");
    std::thread rank([&] {
        joined =
            call_host({.rank = 1, .ranks = 2, .timeout_ns = 5 * second_ns},
                      {.hosts = {"127.0.0.1"}, .ports = {port}, .job = "", .said_by = ""}, key);
    });
    const auto next_proven = [&] {
        pollfd entry{listener.get(), POLLIN, 0};
        EXPECT_EQ(poll(&entry, 1, 5000), 1) << "no call";
        Fd caller(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        tcp::Handshake handshake = tcp::Handshake::listener(key, 0, 2);
        for (entry = {caller.get(), POLLIN, 0}; entry.events != 0 && poll(&entry, 1, 5000) == 1;)
            entry.events = tcp::advance(handshake, caller.get());
        EXPECT_EQ(handshake.state(), tcp::Handshake::State::proven);
        return caller;
    };
    next_proven();
    Fd caller = next_proven();
    const WireAnswer answers[] = {WireAnswer::joined, WireAnswer::cards};
    EXPECT_EQ(send(caller.get(), answers, sizeof answers, MSG_NOSIGNAL), ssize_t{sizeof answers});
    rank.join();
    ASSERT_TRUE(joined.is_ok()) << last_detail();
    WireAnswer next{};
    EXPECT_EQ(recv(joined->get(), &next, sizeof next, MSG_DONTWAIT), ssize_t{sizeof next});
    EXPECT_EQ(next, WireAnswer::cards);
}

TEST_F(StartupNetwork, RankZeroRefusesAPortThatIsTaken) {
    const int taken = listen_at(static_cast<std::uint16_t>(port_));
    ASSERT_GE(taken, 0);
    const std::string place = "tcp://127.0.0.1:" + std::to_string(port_);
    expect_failure(
        "WEFT_STARTUP=" + place + " WEFT_RANK=0 WEFT_RANKS=2 " + own_path + " --rank exchange",
        "rank 0 cannot listen at port " + std::to_string(port_) + " (WEFT_STARTUP = '" + place +
            "'): Address already in use");
    close(taken);
}

TEST_F(StartupNetwork, VariablesThatCannotBeAreRefusedByName) {
    const auto refused = [](const std::string& variables, const std::string& sentence) {
        expect_failure(variables + " " + own_path + " --rank exchange", sentence);
    };
    const std::string master = "MASTER_ADDR=127.0.0.1 ";
    refused(master + "WORLD_SIZE=two RANK=0", "WORLD_SIZE = 'two'; expected a whole number");
    refused(master + "WORLD_SIZE=2 RANK=2", "RANK = '2'; expected a whole number 0..1");
    refused(master + "WORLD_SIZE=2 JOB_COMPLETION_INDEX=-1",
            "JOB_COMPLETION_INDEX = '-1'; expected");
    refused(master + "WORLD_SIZE=2 RANK=1 MASTER_PORT=99999", "MASTER_PORT = '99999'; expected");
    for (const std::string place :
         {"tcp://", "tcp://host", "tcp://:7000", "tcp://host:", "tcp://host:0", "tcp://host:65536",
          "tcp://fd00::1:7000", "tcp://[]:7", "tcp://a,:7", "tcp://,a:7", "tcp://a,fd00::1:7"})
        refused("WEFT_RANK=0 WEFT_RANKS=2 WEFT_STARTUP=" + place,
                "WEFT_STARTUP = '" + place + "'; expected tcp://HOST:PORT");
    refused("WEFT_RANK=0 WEFT_RANKS=2 WEFT_STARTUP=udp://host:7",
            "WEFT_STARTUP = 'udp://host:7'; expected tcp://HOST:PORT or an absolute path");
    refused("WEFT_STARTUP=tcp://host:7 WEFT_RANKS=2", "WEFT_RANK is not set");
}

// One process, or too little said to find others: a job of one rank.
TEST_F(StartupNetwork, WhoIsOneOfOneJoinsNobody) {
    for (const char* one :
         {"WORLD_SIZE=1 RANK=0 MASTER_ADDR=nowhere", "JOB_COMPLETION_INDEX=3",
          "JOB_COMPLETION_INDEX=3 MASTER_ADDR=nowhere",
          "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_STEP_NODELIST=nowhere",
          "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=2 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=nowhere",
          "WORLD_SIZE=1 RANK=0 MASTER_ADDR=nowhere SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 "
          "SLURM_STEP_ID=0 SLURM_STEP_NODELIST=nowhere",
          "WEFT_STARTUP=tcp://nowhere:7000 WEFT_RANK=0 WEFT_RANKS=1"}) {
        const Finished done = expect_success(std::string(one) + " " + own_path + " --rank alone");
        EXPECT_EQ(done.err, "") << one;
    }
    for (const char* several :
         {"WORLD_SIZE=2 MASTER_ADDR=nowhere", "WORLD_SIZE=2 JOB_COMPLETION_INDEX=1"}) {
        const Finished done =
            expect_success(std::string(several) + " " + own_path + " --rank alone");
        EXPECT_TRUE(contains(done.err, "weft: WORLD_SIZE=2, but ")) << several;
    }
}

// srun without --mpi, as its tasks see it. An outer step's variables are no matter below an MPI's launcher.
TEST_F(StartupNetwork, TasksOfAStepOfSlurmFindEachOther) {
    std::vector<Started> started;
    const std::string step =
        "SLURM_JOB_ID=" + std::to_string(getpid()) +
        " SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=";
    for (const char* task : {"2", "1", "0"})
        started.push_back(
            std::make_unique<ChildProcess>(step + task + " exec " + own_path + " --rank key"));
    for (const Started& rank : started) {
        expect_joined(*rank);
        EXPECT_EQ(rank->out, started.front()->out);
    }
}

TEST(FirstHost, IsOfSlurmsLists) {
    EXPECT_EQ(first_host("node1"), "node1");
    EXPECT_EQ(first_host("node1,node2"), "node1");
    EXPECT_EQ(first_host("node[07-09,12],other"), "node07");
    EXPECT_EQ(first_host("node[3,5]"), "node3");
    EXPECT_EQ(first_host("rack[1-2]node[003-004].local"), "rack1node003.local");
    EXPECT_EQ(first_host("node[3"), "");
    EXPECT_EQ(first_host(""), "");
}

// --- Between nodes -------------------------------------------------------------------------------

// tools/situations has them, for other libraries, too.
class StartupNodes : public StartupNetwork, public testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        StartupNetwork::SetUp();
        if (IsSkipped()) return;
        const std::string problem =
            absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
        if (!problem.empty()) GTEST_SKIP() << problem;
    }
};

// All join and compute without settings, or say what is wrong.
TEST_P(StartupNodes, StartOrSayWhyNot) {
    const std::string late = runs_all() ? "20" : "0.4";
    expect_success("exec python3 " WEFT_SOURCE_DIR
                   "/tools/situations/situations.py --weft " WEFT_BUILD_DIR
                   "/weft --limit 45 --patience 1 --late " +
                   late + " " + GetParam() + " -- " + own_path + " --join");
}

INSTANTIATE_TEST_SUITE_P(In, StartupNodes,
                         testing::Values("torchrun", "indexed", "bridge", "own-name", "interfaces",
                                         "ipv6", "tunnel", "names", "late", "dead", "port",
                                         "stranger", "elsewhere", "chosen", "cut", "cut-ahead",
                                         "families"),
                         [](const testing::TestParamInfo<std::string>& test) {
                             std::string name = test.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

}  // namespace weft::test::startup_network_test

int main(int argc, char** argv) {
    using namespace weft::test;
    const std::string how = argc > 1 ? argv[1] : "";
    if (how == "--join") return startup_network_test::join_and_compute();
    if (how == "--meet") return startup_network_test::meet();
    return run_tests_or_rank(argc, argv);
}
