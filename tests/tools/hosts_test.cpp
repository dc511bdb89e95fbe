// What `weft run --hosts` promises, with a program in place of ssh whose other end is this machine: as with ssh, that
// lives on when the client is killed, and its standard input ends.
#include "mpi/shared_key.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::hosts_test {

class Hosts : public ::testing::Test {
  protected:
    void SetUp() override {
        std::ofstream(folder_ / "ssh") << "#!/bin/sh\n"
                                          "while [ $# -gt 1 ]; do shift; done\n"
                                          "mkfifo $0.$$; exec 3<&0; cat <&3 > $0.$$ & input=$!\n"
                                          "sh -c \"$1\" < $0.$$; status=$?\n"
                                          "kill $input 2> /dev/null; exit $status\n";
        std::filesystem::permissions(folder_ / "ssh", std::filesystem::perms::owner_all);
    }

    std::string weft_run(const std::string& arguments,
                         const std::string& hosts = "127.0.0.1:2,localhost:2") const {
        return "exec " WEFT_BUILD_DIR "/weft run --ssh " + (folder_ / "ssh") + " --hosts " + hosts +
               " " + arguments;
    }

    Folder folder_;
};

TEST_F(Hosts, HaveAsManyRanksAsTheyHavePlaces) {
    const std::string say = " sh -c 'echo $WEFT_RANK of $WEFT_RANKS in $PWD with $WEFT_TIMEOUT'";
    const std::string rest = " in " + std::filesystem::canonical(folder_ / "").string() + " with 7";
    const auto lines = [&](const std::string& options, const std::string& hosts) {
        return sorted_lines(expect_success("cd " + (folder_ / "") + "; export WEFT_TIMEOUT=7; " +
                                           weft_run(options + say, hosts))
                                .out);
    };
    EXPECT_EQ(lines("", "127.0.0.1,me@localhost:2"),
              (Lines{"0 of 3" + rest, "1 of 3" + rest, "2 of 3" + rest}));
    EXPECT_EQ(lines("-n 2", "localhost:2,no.such.host.invalid"),
              (Lines{"0 of 2" + rest, "1 of 2" + rest}));
    EXPECT_EQ(lines("--prefix -n 2", "127.0.0.1,localhost"),
              (Lines{"[0] 0 of 2" + rest, "[1] 1 of 2" + rest}));
}

TEST_F(Hosts, RanksAreOneJobWithAKeyOfItsOwn) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    const Finished one = run("export WEFT_JOB_KEY=mine; " + weft_run(startup_rank + "key"));
    const Finished other = run(weft_run(startup_rank + "key"));
    EXPECT_NE(shared_key(one, 4), shared_key(other, 4));
    EXPECT_EQ(one.err + other.err, "");
}

TEST_F(Hosts, TheKeyIsInNoArguments) {
    const Finished done = expect_success(
        weft_run("sh -c 'echo $WEFT_JOB_KEY > " + (folder_ / "$WEFT_RANK") +
                 "; [ ${#WEFT_JOB_KEY} = 64 ] || exit 1; "
                 "cat /proc/[0-9]*/cmdline 2>/dev/null | tr \"\\0\" \"\\n\" | grep -c -F -f " +
                 (folder_ / "$WEFT_RANK") + " || true'"));
    EXPECT_EQ(done.out, "0\n0\n0\n0\n") << done.err;
}

TEST_F(Hosts, AreRefusedWhenTheyMakeNoSense) {
    for (const char* hosts : {"a:0", "a:x", "a,,b", ":2", "a,-b", "a:99999999"})
        expect_failure(weft_run("true", hosts),
                       std::string("--hosts: '") + hosts + "'; expected hosts like node1,node2:4");
    expect_refusal(weft_run("-n 5 true"), 2,
                   "weft run: 5 ranks (-n) for 4 places on the hosts (--hosts)\n");
    expect_failure(weft_run("--nodes 2 true"), " excludes --");
}

TEST_F(Hosts, AProgramThatCannotBeStartedOrFailsIsReported) {
    EXPECT_EQ(run(weft_run("/no/such/program")).status, 127);
    const Finished done =
        run(weft_run("--grace 0.1 sh -c '[ $WEFT_RANK = 3 ] && exit 9; exec sleep 1000'"));
    EXPECT_EQ(done.status, 9);
    EXPECT_TRUE(contains(done.err, "weft run: rank 3 exited with status 9\n"));
    EXPECT_TRUE(contains(done.err, "weft run: host localhost exited with status 9\n"));
}

class HostsEnd : public Hosts {
  protected:
    // Each rank has also left a process behind, in a session of its own.
    std::unique_ptr<ChildProcess> start() {
        std::ofstream(folder_ / "rank")
            << "setsid sh -c 'echo $$ > " + (folder_ / "left.$WEFT_RANK") +
                   "; exec sleep 1000' > /dev/null 2>&1 &\n"
                   "echo $$ > " +
                   (folder_ / "rank.$WEFT_RANK") + "\nexec sleep 1000\n";
        auto job = std::make_unique<ChildProcess>(weft_run("--grace 0.1 sh " + (folder_ / "rank")));
        for (int rank = 0; rank < 4; ++rank) {
            for (const char* kind : {"left.", "rank."}) {
                const std::string file = folder_ / (kind + std::to_string(rank));
                EXPECT_TRUE(becomes_true([&] { return pid_in(file) > 0; })) << file;
                pids_.push_back(pid_in(file));
            }
        }
        return job;
    }

    static bool has_ended(pid_t pid) {
        const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
        const std::size_t end_of_name = stat.rfind(") ");
        return end_of_name == stat.npos || stat[end_of_name + 2] == 'Z';
    }

    // While nothing else ends them.
    void expect_nothing_left() {
        for (const pid_t pid : pids_)
            EXPECT_TRUE(becomes_true([&] { return has_ended(pid); })) << pid << " lives on";
    }

    std::vector<pid_t> pids_;
};

TEST_F(HostsEnd, NothingStaysAfterASignal) {
    auto job = start();
    kill(job->pid(), SIGTERM);
    expect_nothing_left();
}

TEST_F(HostsEnd, NothingStaysWhenTheLauncherIsKilled) {
    auto job = start();
    kill(job->pid(), SIGKILL);
    expect_nothing_left();
}

TEST_F(HostsEnd, NothingStaysWhenARankIsKilled) {
    auto job = start();
    kill(pid_in(folder_ / "rank.2"), SIGKILL);
    expect_nothing_left();
    job->finish();
    EXPECT_EQ(job->status, 128 + SIGKILL) << job->err;
}

}  // namespace weft::test::hosts_test
