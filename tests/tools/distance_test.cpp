// What `weft run --nodes` promises of nodes that are a distance apart (--delay, --jitter, --loss).
#include "support/process.h"
#include "support/test.h"
#include "tests/support/surroundings.h"

namespace weft::test::distance_test {

const std::string weft_program = WEFT_BUILD_DIR "/weft";
const std::string nodes_program = WEFT_BUILD_DIR "/tests/tools/nodes_program";
const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";

// On a busy machine packets may be later than a run may have it, which tells nothing about bytes.
void expect_done(const Finished& job, Where where = Where::current()) {
    const bool was_late = job.status == 2 && contains(job.err, "weft run: a packet came ");
    EXPECT_TRUE(job.status == 0 || was_late)
        << where.file_name() << ":" << where.line() << ": " << job.status << "\n"
        << job.err;
}

// Processes that have this text in their environment, as those of a job have.
std::vector<pid_t> marked(const std::string& text) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid > 0 && content(entry.path() / "environ").find(text) != std::string::npos) {
            found.push_back(pid);
        }
    }
    return found;
}

class Distance : public ::testing::Test {
  protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "not root";
        const std::string problem = absence_of_nodes("unshare ");
        if (!problem.empty()) GTEST_SKIP() << problem;
        if (run("exec 3<>/dev/net/tun").status != 0) GTEST_SKIP() << "no /dev/net/tun here";
        run("chmod 777 " + (folder_ / ""));
    }

    std::string weft_run(const std::string& arguments) const {
        return "PATH=$PATH:/usr/sbin:/sbin; WEFT_TEST_MARK=" + mark_ + " exec " + weft_program +
               " run " + arguments;
    }

    // The process that is the switch of the job; 0: it has none yet.
    pid_t switch_of_job() const {
        for (pid_t pid : marked(mark_)) {
            if (content("/proc/" + std::to_string(pid) + "/comm") == "weft-switch\n") return pid;
        }
        return 0;
    }

    // A job whose node 0 sends to node 1 all the time, until `end` exists.
    std::unique_ptr<ChildProcess> start_sending() {
        std::ofstream(folder_ / "rank")
            << ": > " + (folder_ / "ready") + "\nwhile [ ! -e " + (folder_ / "end") +
                   " ]; do\n"
                   "    [ $WEFT_RANK = 1 ] || echo x > /dev/udp/10.77.0.2/7000\n"
                   "    sleep 0.002\ndone\n";
        auto job = std::make_unique<ChildProcess>(
            weft_run("-n 2 --nodes 2 --delay 20ms bash " + (folder_ / "rank")));
        EXPECT_TRUE(becomes_true([&] { return std::filesystem::exists(folder_ / "ready"); }));
        return job;
    }

    Folder folder_;
    const std::string mark_ = "switch-" + std::to_string(getpid()) + "-" + std::to_string(now_ns());
};

TEST_F(Distance, BytesComeWholeAndRoundTripsTakeTwiceTheDelay) {
    for (const std::string options : {"--links 2 --rate 400mbit --delay 5ms --jitter 1ms --loss 1%",
                                      "--links 1 --rate 400mbit --delay 5ms --gso 1500"}) {
        const std::string report = folder_ / "report";
        Finished job = run("export WEFT_SWITCH_REPORT=" + report + "; " +
                           weft_run("-n 2 --nodes 2 " + options + " " + nodes_program + " " +
                                    options.substr(8, 1) + " 400000"));
        expect_done(job);
        int ranks = 0;
        for (const std::string& line : sorted_lines(job.out)) {
            long shortest_us = 0;
            if (std::sscanf(line.c_str(), "shortest %ld us", &shortest_us) != 1) continue;
            ++ranks;
            // Less what the switch takes off for the time that it takes itself, at most 0.4 ms.
            EXPECT_GE(shortest_us, 2 * (5000 - 400)) << options;
        }
        EXPECT_EQ(ranks, 2) << job.out << job.err;
        EXPECT_TRUE(contains(job.err, "weft run: links with delay: bias "));
        EXPECT_TRUE(contains(content(report), "{\"kind\":\"switch\",\"bias_us\":"));
    }
    EXPECT_EQ(sorted_lines(content(folder_ / "report")).size(), 2u) << "one line for each run";
}

TEST_F(Distance, AUserWhoCanOpenTheTunDeviceNeedsNoOtherPrivilege) {
    if (run(as_nobody + weft_program + " --version").status != 0) {
        GTEST_SKIP() << "other users cannot execute " << weft_program;
    }
    const std::string node = folder_ / "tun";
    const std::string prepared = "unshare --mount sh -c 'rm -f " + node + " && mknod " + node +
                                 " c 10 200 && chmod 666 " + node + " && mount --bind " + node +
                                 " /dev/net/tun && exec 3<>/dev/net/tun && exec 3>&- && ";
    if (run(prepared + "true'").status != 0) GTEST_SKIP() << "no device can be made here";
    expect_done(run(prepared + "exec " + as_nobody + "env PATH=$PATH:/usr/sbin:/sbin " +
                    weft_program + " run -n 2 --nodes 2 --rate 1gbit --delay 1ms " + nodes_program +
                    " 1 100000'"));
}

TEST_F(Distance, SaysWhatIsMissing) {
    const std::string job = weft_program + " run -n 2 --nodes 2 --delay 1ms true";
    const std::string in_front = "PATH=$PATH:/usr/sbin:/sbin; unshare --mount sh -c '";
    expect_refusal(
        in_front + "mount -t tmpfs none /dev/net && exec " + job + "'", 2,
        "weft run: --delay, --jitter and --loss need /dev/net/tun, which cannot be opened: "
        "No such file or directory; root can load the module tun");
    const std::string node = folder_ / "closed";
    expect_refusal(in_front + "mknod " + node + " c 10 200 && chmod 600 " + node +
                       " && mount --bind " + node + " /dev/net/tun && exec " + as_nobody + job +
                       "'",
                   2, "which cannot be opened: Permission denied; root can let everyone open it");
}

TEST_F(Distance, OtherLaunchersReachTheNodes) {
    std::ofstream(folder_ / "launcher")
        << "for node in $(echo $WEFT_CLUSTER_NODES | tr , ' '); do\n"
           "    $WEFT_CLUSTER_AGENT $node hostname\ndone\n"
           "ip -o -4 address show dev $WEFT_CLUSTER_INTERFACE | grep -c "
           "\"$WEFT_CLUSTER_ADDRESS/24 \"\n";
    Finished job =
        run(weft_run("--nodes 2 --jitter 50us --exec-per-node sh " + (folder_ / "launcher")));
    expect_done(job);
    EXPECT_EQ(job.out, "node0\nnode1\n1\n") << job.err;
}

TEST_F(Distance, ARunWhosePacketsAreTooLateFails) {
    auto job = start_sending();
    const pid_t pid = switch_of_job();
    ASSERT_GT(pid, 0);
    kill(pid, SIGSTOP);
    usleep(200'000);
    kill(pid, SIGCONT);
    usleep(50'000);
    std::ofstream(folder_ / "end") << "";
    job->finish();
    EXPECT_EQ(job->status, 2);
    EXPECT_TRUE(contains(job->err, "weft run: a packet came "));
    EXPECT_TRUE(contains(job->err, "the links were not as asked for"));
}

TEST_F(Distance, ARunWhoseSwitchIsKilledFails) {
    auto job = start_sending();
    kill(switch_of_job(), SIGKILL);
    std::ofstream(folder_ / "end") << "";
    job->finish();
    EXPECT_EQ(job->status, 2);
    EXPECT_TRUE(contains(job->err, "weft run: the switch of the nodes has ended before the job"));
}

TEST_F(Distance, NothingStaysOfAJobThatIsKilledAtAnyMoment) {
    for (int delay_ms : {0, 10, 40, 80, 150, 300}) {
        ChildProcess job(weft_run("-n 2 --nodes 2 --delay 1ms sleep 1000"));
        usleep(static_cast<useconds_t>(delay_ms) * 1000);
        kill(job.pid(), SIGKILL);
        job.finish();
        EXPECT_TRUE(becomes_true([&] { return marked(mark_).empty(); }))
            << "killed after " << delay_ms << " ms";
    }
}

TEST(DistanceOptions, AreRefusedWhenTheyMakeNoSense) {
    const std::pair<const char*, const char*> refusals[] = {
        {"--nodes 2 --delay 1",
         "--delay: '1'; expected a time like 1ms, 50us or 0.1s, at most 10s"},
        {"--nodes 2 --delay soon", "--delay: 'soon'"},
        {"--nodes 2 --delay -1ms", "--delay: '-1ms'"},
        {"--nodes 2 --delay 11s", "--delay: '11s'"},
        {"--nodes 2 --delay 1e300s", "--delay: '1e300s'"},
        {"--nodes 2 --jitter 1min", "--jitter: '1min'; expected a time"},
        {"--nodes 2 --loss 0.01", "--loss: '0.01'; expected a share of the packets like 0.1%"},
        {"--nodes 2 --loss 51%", "--loss: '51%'"},
        {"--nodes 2 --loss nan%", "--loss: 'nan%'"},
        {"--delay 1ms", "--delay requires --nodes"},
        {"--jitter 1ms", "--jitter requires --nodes"},
        {"--loss 1%", "--loss requires --nodes"},
    };
    for (auto [options, sentence] : refusals) {
        expect_failure(weft_program + " run -n 2 " + options + " true", sentence);
    }
}

}  // namespace weft::test::distance_test
