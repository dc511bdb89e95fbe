// What `weft run --nodes` promises, as root and as a user without privileges.
#include <sched.h>

#include "support/process.h"
#include "support/test.h"
#include "tests/support/surroundings.h"

namespace weft::test::cluster_test {

const std::string weft_program = WEFT_BUILD_DIR "/weft";
const std::string sbin = "PATH=$PATH:/usr/sbin:/sbin; ";
const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";

enum class User { root, other };

// The state of a process, as ps shows it; ' ' when there is none.
char state(pid_t pid) {
    const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t end_of_name = stat.rfind(") ");
    return end_of_name == stat.npos ? ' ' : stat[end_of_name + 2];
}

bool has_ended(pid_t pid) { return state(pid) == ' ' || state(pid) == 'Z'; }

// How many processes are in these network namespaces ("net:[4026532179]").
std::size_t inhabitants(const Lines& networks) {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::error_code error;
        const std::string network = std::filesystem::read_symlink(entry.path() / "ns/net", error);
        if (!error && std::find(networks.begin(), networks.end(), network) != networks.end()) {
            ++found;
        }
    }
    return found;
}

const std::string show_links =
    "sh -c 'for link in /proc/sys/net/ipv4/conf/*eth*; do tc qdisc show dev ${link##*/}; done'";

const auto users = ::testing::Values(User::root, User::other);

std::string name_of_user(const ::testing::TestParamInfo<User>& test) {
    return test.param == User::root ? "Root" : "Other";
}

class Cluster : public ::testing::TestWithParam<User> {
  protected:
    void SetUp() override {
        const bool is_root = geteuid() == 0;
        if (GetParam() == User::root && !is_root) GTEST_SKIP() << "not root";
#if defined(__SANITIZE_THREAD__) && __GNUC__ > 12
        if (GetParam() == User::other) {
            GTEST_SKIP() << "ThreadSanitizer's own thread keeps it out of user namespaces";
        }
#endif
        if (GetParam() == User::other && is_root) {
            user_ = as_nobody;
            if (run(user_ + weft_program + " --version").status != 0) {
                GTEST_SKIP() << "other users cannot execute " << weft_program;
            }
        }
        if (GetParam() == User::other) unshare_ += "--user --map-root-user ";
        if (!std::filesystem::exists("/proc/sys/net/ipv6")) {
            GTEST_SKIP() << "no IPv6 on this machine";
        }
        const std::string problem = absence_of_nodes(user_ + unshare_);
        if (!problem.empty()) GTEST_SKIP() << problem;
        run("chmod 777 " + (folder_ / ""));
    }

    // `exec`, so that the process of the shell becomes the launcher.
    std::string weft_run(const std::string& arguments) const {
        return sbin + "exec " + user_ + weft_program + " run " + arguments;
    }

    std::string user_;                  // in front of a command: becomes the user
    std::string unshare_ = "unshare ";  // in front of options and a command: as weft run does it
    Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(By, Cluster, users, name_of_user);

TEST_P(Cluster, DealsRanksToNamedNodesInBlocks) {
    Finished job = expect_success(weft_run("-n 5 --nodes 2 --prefix hostname"));
    EXPECT_EQ(sorted_lines(job.out),
              (Lines{"[0] node0", "[1] node0", "[2] node0", "[3] node1", "[4] node1"}));
}

TEST_P(Cluster, NodesReachOneAnotherOverEveryLinkAndFamily) {
    const std::string program = WEFT_BUILD_DIR "/tests/tools/nodes_program";
    Finished job = expect_success(weft_run("-n 3 --nodes 3 --links 2 " + program + " 2"));
    EXPECT_EQ(sorted_lines(job.out), (Lines{"0: 0 4 4", "1: 4 0 4", "2: 4 4 0"}));
}

TEST_P(Cluster, RanksUseAllLinksUnlessTheUserSaysOtherwise) {
    const std::string tell = "sh -c 'echo ${WEFT_INTERFACES-unset}'";
    EXPECT_EQ(run("unset WEFT_INTERFACES; " + weft_run("-n 1 --nodes 1 " + tell)).out, "unset\n");
    const std::string three = "-n 1 --nodes 1 --links 3 " + tell;
    EXPECT_EQ(run("unset WEFT_INTERFACES; " + weft_run(three)).out, "eth0,eth1,eth2\n");
    EXPECT_EQ(run("export WEFT_INTERFACES=eth1; " + weft_run(three)).out, "eth1\n");
}

TEST_P(Cluster, SeveralClustersDoNotMeet) {
    const std::string program = WEFT_BUILD_DIR "/tests/tools/nodes_program";
    std::vector<std::unique_ptr<ChildProcess>> jobs;
    for (int i = 0; i < 3; ++i) {
        jobs.push_back(
            std::make_unique<ChildProcess>(weft_run("-n 2 --nodes 2 " + program + " 1")));
    }
    for (auto& job : jobs) {
        job->finish();
        EXPECT_EQ(job->status, 0) << job->err;
        EXPECT_EQ(sorted_lines(job->out), (Lines{"0: 0 2", "1: 2 0"}));
    }
}

TEST_P(Cluster, EveryNodeSeesItsOwnLinksOnly) {
    Finished job = run(weft_run("-n 2 --nodes 2 --links 2 --prefix ls /sys/class/net"));
    if (job.err.find("the nodes have the machine's /sys") != job.err.npos) {
        job =
            run(weft_run("-n 2 --nodes 2 --links 2 --prefix sh -c "
                         "\"sed -n 's/ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev\""));
    }
    EXPECT_EQ(sorted_lines(job.out),
              (Lines{"[0] eth0", "[0] eth1", "[0] lo", "[1] eth0", "[1] eth1", "[1] lo"}));
}

TEST_P(Cluster, LinksAreUpBeforeRanksStart) {
    for (const char* link : {"eth0", "eth1"}) {
        Finished job = expect_success(
            "PATH=$PATH:/usr/sbin:/sbin " +
            weft_run("-n 2 --nodes 2 --links 2 ip -o link show " + std::string(link)));
        for (const std::string& line : sorted_lines(job.out))
            EXPECT_NE(line.find("state UP"), line.npos) << line;
    }
}

TEST_P(Cluster, LinksAreLimitedAtBothEnds) {
    Finished nodes = run(weft_run("-n 2 --nodes 2 --links 2 --rate 250mbit " + show_links));
    Finished bridge =
        run(weft_run("--nodes 2 --links 2 --rate 250mbit --exec-per-node " + show_links));
    for (const Finished& ends : {nodes, bridge}) {
        EXPECT_EQ(sorted_lines(ends.out).size(), 4u) << ends.out << ends.err;
        for (const std::string& line : sorted_lines(ends.out)) {
            EXPECT_TRUE(contains(line, "qdisc tbf "));
            EXPECT_TRUE(contains(line, " rate 250Mbit "));
        }
    }
    Finished free = expect_success(weft_run("-n 1 --nodes 1 " + show_links));
    EXPECT_EQ(free.out.find("tbf"), free.out.npos) << "without --rate nothing limits";
}

TEST_P(Cluster, LinksPassAtOnceOnlyWhatIsSaidAtBothEnds) {
    const std::string options = "--nodes 1 --rate 250mbit --burst 32768 ";
    for (const std::string& way : {"-n 1 " + options, options + "--exec-per-node "}) {
        Finished ends = expect_success(weft_run(way + show_links));
        EXPECT_TRUE(contains(ends.out, " burst 32"));  // (rounded to a tick)
    }
    expect_failure(run(weft_run("-n 1 " + options + "--burst 1 true")), "--burst");
}

TEST_P(Cluster, LinksTakeLargePacketsOnlyAsFarAsIsSaidAtBothEnds) {
    const std::string show =
        "sh -c 'for link in /proc/sys/net/ipv4/conf/*eth*; do "
        "ip -d link show dev ${link##*/} | grep -o \"gso_max_size [0-9]*\"; done'";
    Finished nodes = run(weft_run("-n 2 --nodes 2 --gso 1500 " + show));
    Finished bridge = run(weft_run("--nodes 2 --gso 1500 --exec-per-node " + show));
    for (const Finished& ends : {nodes, bridge}) {
        EXPECT_EQ(sorted_lines(ends.out), (Lines{"gso_max_size 1500", "gso_max_size 1500"}))
            << ends.err;
    }
    Finished too_small = run(weft_run("-n 2 --nodes 2 --gso 100 true"));
    EXPECT_NE(too_small.status, 0);
    EXPECT_TRUE(contains(too_small.err, "--gso"));
}

TEST_P(Cluster, CoresAreDealtToRanksRoundAndRound) {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    std::vector<std::string> own;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &mask)) own.push_back(std::to_string(core));
    }
    const std::string first = own.front();
    const std::string last = own.back();
    const std::string grep = " --prefix grep Cpus_allowed_list: /proc/self/status";
    const std::string line = "Cpus_allowed_list:\t";
    Finished listed = run(weft_run("-n 3 --nodes 3 --cores " + last + "," + first + grep));
    EXPECT_EQ(sorted_lines(listed.out),
              (Lines{"[0] " + line + last, "[1] " + line + first, "[2] " + line + last}))
        << listed.err;
    Finished bound = run(weft_run("-n 2 --nodes 2 --bind core" + grep));
    EXPECT_EQ(sorted_lines(bound.out),
              (Lines{"[0] " + line + first, "[1] " + line + own[1 % own.size()]}))
        << bound.err;
}

TEST_P(Cluster, RanksInheritNothingOfIt) {
    const std::string list =
        "sh -c 'for f in /proc/$$/fd/*; do [ ${f##*/} -gt 2 ] && "
        "[ ${f##*/} != \"$WEFT_STARTUP_FD\" ] && readlink $f; done; exit 0'";
    const Lines before = sorted_lines(run(list).out);
    for (const std::string& open : sorted_lines(run(weft_run("-n 2 --nodes 2 " + list)).out)) {
        EXPECT_TRUE(std::find(before.begin(), before.end(), open) != before.end()) << open;
    }
}

TEST_P(Cluster, RanksOfANodeFindEachOtherThroughTheLibrary) {
    expect_success(weft_run("-n 3 --nodes 1 " WEFT_BUILD_DIR "/examples/example_own_schedule_c"));
}

TEST_P(Cluster, ARankCanCutItsOwnLink) {
    Finished job = expect_success(
        weft_run("-n 2 --nodes 2 sh -c '[ $WEFT_RANK = 1 ] && ip link set eth0 down; "
                 "echo $(hostname) $(ip -o link show eth0 | grep -c \"state DOWN\")'"));
    EXPECT_EQ(sorted_lines(job.out), (Lines{"node0 0", "node1 1"}));
}

TEST_P(Cluster, TheMachineOutsideIsNotTouched) {
    const std::string host_name = run("hostname").out;
    ChildProcess job(weft_run("-n 1 --nodes 1 sh -c 'ip -o link show eth0 > " + (folder_ / "tmp") +
                              "; mv " + (folder_ / "tmp") + " " + (folder_ / "running") +
                              "; exec sleep 1000'"));
    ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(folder_ / "running"); }));
    EXPECT_TRUE(contains(content(folder_ / "running"), "eth0@"));
    EXPECT_EQ(run("hostname").out, host_name);
    EXPECT_FALSE(std::filesystem::exists("/sys/class/net/node0-eth0"));
    EXPECT_FALSE(std::filesystem::exists("/run/netns/node0"));
}

// --- Another launcher ----------------------------------------------------------------------------

class ClusterAgent : public Cluster {
  protected:
    // A launcher that is a shell script.
    Finished launch(const std::string& options, const std::string& script) {
        std::ofstream(folder_ / "launcher") << script;
        return run(weft_run(options + " --exec-per-node sh " + (folder_ / "launcher")));
    }
};

INSTANTIATE_TEST_SUITE_P(By, ClusterAgent, users, name_of_user);

TEST_P(ClusterAgent, StartsProcessesOnTheNodesThatAreNamed) {
    setenv("WEFT_RANK", "9", 1);
    Finished job = launch("--nodes 2",
                          "for node in $(echo $WEFT_CLUSTER_NODES | tr , ' '); do\n"
                          "    $WEFT_CLUSTER_AGENT $node hostname\n"
                          "done\n"
                          "$WEFT_CLUSTER_AGENT node0 hostname\n"
                          "$WEFT_CLUSTER_AGENT fd77:6566:7400::2 hostname\n"
                          "echo ${WEFT_RANK-no rank}\n");
    unsetenv("WEFT_RANK");
    EXPECT_EQ(job.status, 0) << job.err;
    EXPECT_EQ(job.out, "node0\nnode1\nnode0\nnode1\nno rank\n");
}

TEST_P(ClusterAgent, TakesWhatSshTakes) {
    Finished job = launch("--nodes 2",
                          "agent=$WEFT_CLUSTER_AGENT\n"
                          "$agent -x -q -p 22 -l me -o BatchMode=yes you@10.77.0.2 "
                          "'echo $(hostname)' and \"'two  blanks'\" '| cat'\n"
                          "echo words | $agent 10.77.0.1 cat\n"
                          "$agent -- 10.77.0.1 'exit 7'; echo $?\n"
                          "$agent 10.77.0.9 hostname; echo $?\n");
    EXPECT_EQ(job.out, "node1 and two  blanks\nwords\n7\n255\n");
    EXPECT_TRUE(contains(job.err, "weft: no node of this cluster has the address '10.77.0.9'\n"));
}

TEST_P(ClusterAgent, StartsRanksThatJoinThroughADirectory) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "without tcp there is nothing between nodes";
    Finished job =
        expect_success(launch("--nodes 2",
                              "rank=0\n"
                              "for node in node0 node0 node1 node1; do\n"
                              "    $WEFT_CLUSTER_AGENT $node \"WEFT_RANK=$rank WEFT_RANKS=4 "
                              "WEFT_STARTUP_DIR=" +
                                  (folder_ / "job") + " exec " + weft_program +
                                  " bench aa --set ranks=4 --set collective=iallreduce "
                                  "--set bytes=8,64K --set repetitions=2\" &\n"
                                  "    pids=\"$pids $!\" rank=$((rank + 1))\n"
                                  "done\n"
                                  "for pid in $pids; do wait $pid || exit; done\n"));
    EXPECT_TRUE(contains(job.out, "iallreduce 64K"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "job"));
}

TEST_P(ClusterAgent, SaysWhereTheLauncherIs) {
    Finished job =
        launch("--nodes 1",
               "ip -o -4 address show dev $WEFT_CLUSTER_INTERFACE | grep -c "
               "\"$WEFT_CLUSTER_ADDRESS/24 \"\n"
               "ip -o route show $WEFT_CLUSTER_SUBNET | grep -c $WEFT_CLUSTER_INTERFACE\n");
    EXPECT_EQ(job.out, "1\n1\n") << job.err;
}

TEST_P(ClusterAgent, TellsRanksOfAllLinks) {
    unsetenv("WEFT_INTERFACES");
    Finished job =
        launch("--nodes 1 --links 2", "$WEFT_CLUSTER_AGENT node0 'echo $WEFT_INTERFACES'\n");
    EXPECT_EQ(job.out, "eth0,eth1\n") << job.err;
}

TEST_P(ClusterAgent, BindsTheProcessesOfANodeToItsCores) {
    Finished job = launch("--nodes 2 --cores 0,0,0",
                          "$WEFT_CLUSTER_AGENT node1 grep Cpus_allowed_list: /proc/self/status\n"
                          "sed -n 's/.*--cores \\([0-9,]*\\) .*/\\1/p' $WEFT_CLUSTER_AGENT\n");
    EXPECT_EQ(job.out, "Cpus_allowed_list:\t0\n0,0\n0\n") << job.err;
}

TEST_P(ClusterAgent, ReportsTheLauncherByName) {
    expect_refusal(launch("--nodes 1", "exit 3\n"), 3, "weft run: sh exited with status 3\n");
}

// --- Nothing stays -------------------------------------------------------------------------------

// A job of two nodes whose ranks have each left a process in a session of its own, which names
// itself and its network in a file.
class ClusterEnd : public Cluster {
  protected:
    // `then`: what the ranks do next. `launch`: how they come to the nodes.
    std::unique_ptr<ChildProcess> start(const std::string& then) {
        std::ofstream(folder_ / "rank")
            << "name=$(hostname)\n"
               "setsid sh -c 'readlink /proc/self/ns/net > " +
                   (folder_ / "$0.network") + "; echo $$ > " + (folder_ / "$0.tmp") + "; mv " +
                   (folder_ / "$0.tmp") + " " + (folder_ / "$0.pid") +
                   "; exec sleep 1000' $name > /dev/null 2>&1 &\n"
                   "while [ ! -e " +
                   (folder_ / "$name.pid") + " ]; do sleep 0.01; done\n" + then + "\n";
        return std::make_unique<ChildProcess>(
            weft_run("-n 2 --nodes 2 --grace 0.1 sh " + (folder_ / "rank")));
    }

    void expect_nothing_left() {
        Lines networks;
        for (const std::string name : {"node0", "node1"}) {
            networks.push_back(sorted_lines(content(folder_ / (name + ".network"))).at(0));
            const pid_t left = pid_in(folder_ / (name + ".pid"));
            EXPECT_TRUE(becomes_true([&] { return has_ended(left); })) << left << " lives on";
        }
        EXPECT_NE(networks[0], networks[1]);
        EXPECT_TRUE(becomes_true([&] { return inhabitants(networks) == 0; }));
    }

    void wait_until_started() {
        ASSERT_TRUE(becomes_true([&] {
            return pid_in(folder_ / "node0.pid") > 0 && pid_in(folder_ / "node1.pid") > 0;
        })) << "the ranks do not start";
    }
};

INSTANTIATE_TEST_SUITE_P(By, ClusterEnd, users, name_of_user);

TEST_P(ClusterEnd, NothingStaysAfterAJob) {
    auto job = start("exit 0");
    job->finish();
    EXPECT_EQ(job->status, 0) << job->err;
    for (const std::string name : {"node0", "node1"}) {
        EXPECT_TRUE(has_ended(pid_in(folder_ / (name + ".pid")))) << "when weft run has returned";
    }
    expect_nothing_left();
}

TEST_P(ClusterEnd, NothingStaysAfterAFailedJob) {
    auto job = start("exit 4");
    job->finish();
    EXPECT_EQ(job->status, 4) << job->err;
    expect_nothing_left();
}

TEST_P(ClusterEnd, NothingStaysAfterAnInterrupt) {
    auto job = start("exec sleep 1000");
    wait_until_started();
    kill(job->pid(), SIGINT);
    job->finish();
    EXPECT_EQ(job->status, 128 + SIGINT) << job->err;
    expect_nothing_left();
}

TEST_P(ClusterEnd, NothingStaysWhenTheLauncherIsKilled) {
    auto job = start("exec sleep 1000");
    wait_until_started();
    kill(job->pid(), SIGKILL);
    job->finish();
    EXPECT_EQ(job->status, 128 + SIGKILL);
    expect_nothing_left();
}

// --- What is missing ------------------------------------------------------------------------------------

TEST(ClusterOptions, AreRefusedWhenTheyMakeNoSense) {
    const std::pair<const char*, const char*> refusals[] = {
        {"-n 2 --nodes 3", "--nodes: 3 nodes for 2 ranks"},
        {"-n 2 --nodes 0", "--nodes: "},
        {"-n 2 --nodes 2 --rate fast", "--rate: 'fast'; expected a rate like 1gbit"},
        {"-n 2 --nodes 2 --rate 0gbit", "--rate: '0gbit'"},
        {"-n 2 --nodes 2 --rate 1gbps", "--rate: '1gbps'"},
        {"-n 2 --nodes 2 --links 9", "--links: "},
        {"-n 2 --rate 1gbit", "--rate requires --nodes"},
        {"-n 2 --links 2", "--links requires --nodes"},
        {"--exec-per-node", "--exec-per-node requires --nodes"},
        {"-n 2 --nodes 2 --exec-per-node", "--ranks excludes --exec-per-node"},
        {"-n 2 --cores 0 --bind core", "--bind excludes --cores"},
        {"-n 2 --cores 0,4000", "--cores: no core 4000 here; this process has "},
        {"-n 2 --cores -1", "--cores: no core -1 here"},
    };
    for (auto [options, sentence] : refusals) {
        Finished job = run(weft_program + " run " + options + " true");
        EXPECT_NE(job.status, 0) << options;
        EXPECT_TRUE(contains(job.err, sentence)) << options;
    }
}

class ClusterWithout : public Cluster {
  protected:
    // A job of one node where other things are mounted.
    std::string on_other_machine(const std::string& mounts, const std::string& environment,
                                 const std::string& program) {
        return sbin + user_ + unshare_ + "--mount sh -c '" + mounts + " && " + environment +
               " exec " + weft_program + " run -n 1 --nodes 1 " + program + "'";
    }

    // An `ip` or `tc` that always answers the same.
    std::string with_fake(const std::string& program, const std::string& says) {
        std::ofstream(folder_ / program) << "#!/bin/sh\necho '" << says << "' >&2\nexit 2\n";
        run("chmod 755 " + (folder_ / program));
        return "PATH=" + (folder_ / "") + ":$PATH; export PATH; ";
    }
};

INSTANTIATE_TEST_SUITE_P(By, ClusterWithout, users, name_of_user);

TEST_P(ClusterWithout, SaysThatTheKernelLimitsNoRates) {
    Finished job =
        run(with_fake("tc", "Error: Specified qdisc kind is unknown.\nCommand failed -:2") +
            weft_run("-n 2 --nodes 2 --rate 1gbit true"));
    EXPECT_EQ(job.status, 2);
    EXPECT_EQ(job.err,
              "weft run: cannot make the network of --nodes: tc qdisc add dev node1-eth0 root tbf "
              "rate 1gbit burst 128kb latency 50ms: Error: Specified qdisc kind is unknown.; the "
              "kernel may lack tbf\n");
}

TEST_P(ClusterWithout, SaysThatTheKernelHasNoBridge) {
    expect_refusal(with_fake("ip", "Error: Unknown device type.\nCommand failed -:2") +
                       weft_run("-n 1 --nodes 1 true"),
                   2,
                   "ip link add br0 type bridge: Error: Unknown device type.; the "
                   "kernel may lack bridge\n");
}

TEST_P(ClusterWithout, SaysThatIproute2IsMissing) {
    expect_refusal(
        on_other_machine("mount -t tmpfs none /usr/sbin && mount -t tmpfs none /sbin",
                         "PATH=/nowhere", "true"),
        2,
        "weft run: --nodes needs the program ip (package iproute2), which cannot be run: No "
        "such file or directory\n");
}

TEST_P(ClusterWithout, GoesOnWithoutIpv6) {
    Finished job =
        expect_success(on_other_machine("mount -t tmpfs none /proc/sys/net", "", "ip -o address"));
    EXPECT_TRUE(
        contains(job.err, "weft run: IPv6 is off here: the nodes have IPv4 addresses only\n"));
    EXPECT_TRUE(contains(job.out, "10.77.0.1/24"));
    EXPECT_EQ(job.out.find("fd77:"), job.out.npos) << job.out;
}

// A user gets no new /sys where root hides something of the old one.
TEST_P(ClusterWithout, GoesOnWithoutSysOfItsOwn) {
    if (user_.empty()) GTEST_SKIP() << "only where root runs this for another user";
    Finished job =
        expect_success("unshare --mount sh -c 'mount -t tmpfs none /sys/kernel && exec " + user_ +
                       weft_program + " run -n 1 --nodes 1 hostname'");
    EXPECT_TRUE(contains(job.err,
                         "weft run: the nodes have the machine's /sys: Operation not permitted\n"));
    EXPECT_EQ(job.out, "node0\n");
}

TEST_P(ClusterWithout, SaysThatNamespacesAreNotPermitted) {
    if (GetParam() == User::root) GTEST_SKIP() << "root's limit is that of the machine";
    Finished job = expect_refusal(user_ + unshare_ +
                                      "sh -c 'echo 0 > /proc/sys/user/max_net_namespaces && exec " +
                                      weft_program + " run -n 1 --nodes 1 true'",
                                  2, "weft run: --nodes needs network namespaces");
    EXPECT_TRUE(contains(job.err, "the limit of namespaces is reached"));
}

}  // namespace weft::test::cluster_test
