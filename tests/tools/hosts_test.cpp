// What `weft run --hosts` promises, with a program in place of ssh whose other end is this machine: as with ssh, that
// lives on when the client is killed, and its standard input ends.
#include "base/setting.h"
#include "mpi/shared_key.h"
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::hosts_test {

class Hosts : public ::testing::Test {
  protected:
    void SetUp() override {
        std::ofstream(folder_ / "ssh") << "#!/bin/sh\n"
                                          "for last; do :; done\n"
                                          "case \" $* \" in *' -G '*)\n"
                                          "    [ ${last#*@} != alias ] || echo hostname 127.0.0.1\n"
                                          "    exit ;;\n"
                                          "esac\n"
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

TEST_F(Hosts, MayBeCalledAsInTheConfigurationOfSsh) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    expect_success(run("export WEFT_STARTUP_TIMEOUT=5; " +
                       weft_run(startup_rank + "exchange", "me@alias:2,localhost:2")));
}

TEST_F(Hosts, MayCallTheFirstOneLocalhostIfItHasAnAddressForTheOthers) {
    if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
    const std::string job = weft_run(startup_rank + "exchange", "localhost:2,node2:2");
    if (expect_success(WEFT_BUILD_DIR "/weft run-share --addresses").out != "weft-addresses\n")
        expect_success(job);
    else
        expect_refusal(job, 2,
                       "weft run: the other hosts (--hosts) cannot find rank 0 at 'localhost', "
                       "which has no address for others\n");
}

TEST_F(Hosts, SignalsOfTheProgramReachEveryRank) {
    std::ofstream(folder_ / "rank") << "trap 'echo told; exit 0' USR1\necho $$ > " +
                                           (folder_ / "rank.$WEFT_RANK") +
                                           "\nwhile :; do sleep 0.02; done\n";
    ChildProcess job(weft_run("sh " + (folder_ / "rank")));
    for (int rank = 0; rank < 4; ++rank) {
        const std::string file = folder_ / ("rank." + std::to_string(rank));
        EXPECT_TRUE(becomes_true([&] { return pid_in(file) > 0; })) << file;
    }
    kill(job.pid(), SIGUSR1);
    job.finish();
    EXPECT_EQ(job.status, 0) << job.err;
    EXPECT_EQ(job.out, "told\ntold\ntold\ntold\n");
}

TEST_F(Hosts, EndWithTheirRanksWhateverThoseLeave) {
    const Finished done =
        expect_success(run(weft_run("sh -c 'sleep 1000 & echo $!'", "127.0.0.1"), 20 * second_ns));
    const pid_t left = std::atoi(done.out.c_str());
    ASSERT_GT(left, 0);
    EXPECT_FALSE(is_alive(left));
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
    for (const char* hosts : {"a:0", "a:x", "a,,b", ":2", "a,-b", "a:99999999", "[-oBatchMode=no]",
                              "me@-F", "me@[-F]:2", "me@", "-me@a"})
        expect_failure(weft_run("true", hosts),
                       std::string("--hosts: '") + hosts + "'; expected hosts like node1,node2:4");
    expect_refusal(weft_run("-n 5 true"), 2,
                   "weft run: 5 ranks (-n) for 4 places on the hosts (--hosts)\n");
    expect_failure(weft_run("true", "'a b'"), "--hosts: 'a b'; expected");
    expect_failure(weft_run("--nodes 2 true"), " excludes --");
}

TEST_F(Hosts, AProgramThatCannotBeStartedOrFailsIsReported) {
    EXPECT_EQ(run(weft_run("/no/such/program")).status, 127);
    const Finished done =
        run(weft_run("--grace 0.1 sh -c '[ $WEFT_RANK = 3 ] && exit 9; exec sleep 1000'"));
    EXPECT_EQ(done.status, 9);
    EXPECT_TRUE(contains(done.err, "weft run: rank 3 exited with status 9\n"));
    EXPECT_TRUE(contains(done.err, "weft run: host localhost exited with status 9\n"));
    expect_refusal(WEFT_BUILD_DIR "/weft run --ssh false --hosts node1,node2 true", 1,
                   "weft run: host node1 exited with status 1\n");
}

class HostsEnd : public Hosts {
  protected:
    // Each rank has also left a process behind, in a session of its own.
    std::unique_ptr<ChildProcess> start(const std::string& before = "",
                                        const std::string& options = "",
                                        const std::string& after = "") {
        std::ofstream(folder_ / "rank")
            << "setsid sh -c 'echo $$ > " + (folder_ / "left.$WEFT_RANK") +
                   "; exec sleep 1000' > /dev/null 2>&1 &\n"
                   "echo $$ > " +
                   (folder_ / "rank.$WEFT_RANK") +
                   "\nfor i in $(seq 30); do echo $i; sleep 0.01; done\necho $$ > " +
                   (folder_ / "said.$WEFT_RANK") + "\nexec sleep 1000\n";
        auto job = std::make_unique<ChildProcess>(
            before + weft_run(options + "--grace 0.1 sh " + (folder_ / "rank")) + after);
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

// As when the launcher dies: a connection takes no output any more, perhaps before the input ends.
TEST_F(HostsEnd, NothingStaysWhenNobodyTakesTheOutput) {
    const std::string output = folder_ / "output";
    auto job = start("mkfifo " + output + "; head -n 3 " + output + " > /dev/null & ", "--prefix ",
                     " > " + output + " 2>&1");
    for (const char* said : {"said.0", "said.3"})
        EXPECT_TRUE(becomes_true([&] { return pid_in(folder_ / said) > 0; })) << said;
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

// --- On nodes -----------------------------------------------------------------------------------

constexpr const char* nodes = "10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4";

class HostsOfNodes : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!WEFT_HAS_TCP) GTEST_SKIP() << "this build has no tcp";
        const std::string problem =
            absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
        if (!problem.empty()) GTEST_SKIP() << problem;
    }

    // Runs a shell script beside four nodes, in the folder.
    Finished beside_nodes(const std::string& script, int seconds = 55) const {
        std::ofstream(folder_ / "launcher") << "unset WEFT_INTERFACES\ncd " << folder_ / ""
                                            << "\n"
                                            << script;
        return run("PATH=$PATH:/usr/sbin:/sbin; exec " WEFT_BUILD_DIR
                   "/weft run --nodes 4 --timeout " +
                       std::to_string(seconds) + " --exec-per-node sh " + (folder_ / "launcher"),
                   (seconds + 5) * second_ns);
    }

    Folder folder_;
};

const std::string on_nodes = std::string(WEFT_BUILD_DIR "/weft run --hosts ") + nodes;
const std::string all_collectives =
    " " WEFT_BUILD_DIR "/tests/conformance/comms_program thread all_collectives\n";

// The client alone knows the names.
TEST_F(HostsOfNodes, AreOneJobWhateverTheyAreCalled) {
    expect_success(beside_nodes(
        on_nodes + " --ssh $WEFT_CLUSTER_AGENT" + all_collectives + "[ $? = 0 ] || exit\n" +
        "exec " WEFT_BUILD_DIR
        "/weft run --hosts node0,node1,node2,node3 --ssh $WEFT_CLUSTER_AGENT" +
        all_collectives));
}

// What `round` in the script below does to a job of which each rank has left a process behind, in a session of its own.
struct End {
    const char* name;
    const char* awaited;  // before the deed
    const char* deed;
};

constexpr End ends[] = {
    // As a terminal does: to the launcher and all that it has started.
    {"interrupt", "until_true has_started", "kill -INT -$job"},
    {"kill", "until_true has_started", "kill -KILL $job"},
    {"death", "until_true has_started", "kill -KILL $(cut -d \" \" -f 1 marks/rank.2)"},
    // While clients connect, or while ranks start.
    {"early_interrupt", "until_true is_weft && sleep 0.$((3 * $i % 10))", "kill -INT -$job"},
    {"early_kill", "until_true is_weft && sleep 0.$((3 * $i % 10))", "kill -KILL $job"},
};

std::vector<std::string> names_of_ends() {
    std::vector<std::string> names = {"each"};
    for (const End& end : ends) names.emplace_back(end.name);
    return names;
}

// Once each, and one of them fifty times.
class HostsOfNodesEnd : public HostsOfNodes, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(By, HostsOfNodesEnd, testing::ValuesIn(names_of_ends()),
                         [](const auto& test) { return test.param; });

TEST_P(HostsOfNodesEnd, NothingStaysBehindARealSsh) {
    const bool is_each = GetParam() == "each";
    if (!is_each && !runs_all()) GTEST_SKIP() << "50 rounds are for a run of all tests";
    if (geteuid() != 0 || run("PATH=$PATH:/usr/sbin:/sbin command -v sshd ssh-keygen").status != 0)
        GTEST_SKIP() << "no sshd (openssh-server), or not root";
    std::ofstream(folder_ / "sshd_config") << "HostKey " << folder_ / "host_key"
                                           << "\nAuthorizedKeysFile " << folder_ / "key.pub"
                                           << "\nStrictModes no\nUsePAM no\nPidFile none\n"
                                              "PermitRootLogin yes\nLogLevel ERROR\n";
    std::ofstream(folder_ / "ssh") << "#!/bin/sh\nexec ssh -F none -i " << folder_ / "key"
                                   << " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
                                      " -o LogLevel=ERROR \"$@\"\n";
    std::ofstream(folder_ / "rank")
        << "setsid sh -c 'echo $$ > marks/left.$WEFT_RANK; exec sleep 1000' > /dev/null 2>&1 &\n"
           "echo $$ $PPID > marks/rank.$WEFT_RANK\nwhile :; do echo $WEFT_RANK; sleep 0.02; done\n";
    std::string script =
        "chmod +x ssh\n"
        "for file in host_key key; do ssh-keygen -q -t ed25519 -N '' -f $file || exit; done\n"
        "for node in 0 1 2 3; do\n"
        "    $WEFT_CLUSTER_AGENT node$node 'mount -t tmpfs none /run; mkdir -m 755 /run/sshd; "
        "exec /usr/sbin/sshd -D -e -f $PWD/sshd_config' 2>> log & servers=\"$servers $!\"\n"
        "done\n"
        "tries=400\n"
        "until_true() {\n"
        "    until \"$@\"; do tries=$((tries - 1)); [ $tries -gt 0 ] || return; sleep 0.05; done\n"
        "    tries=400\n"
        "}\n"
        "for node in 1 2 3 4; do\n"
        "    until_true ./ssh 10.77.0.$node true 2>> log || { cat log >&2; exit 1; }\n"
        "done\n" +
        on_nodes + " --ssh ./ssh" + all_collectives +
        // Launchers, clients, shares, ranks and what these leave all work in this folder. (Called only in $().)
        "here=$(pwd -P)\n"
        "who_works_here() {\n"
        "    cd /\n"
        "    ls -l /proc/[0-9]*/cwd 2> /dev/null | sed -n \"s|.* /proc/\\([0-9]*\\)/cwd -> "
        "$here\\$|\\1|p\"\n"
        "}\n"
        "before=$(who_works_here)\n"
        "has_started() { [ \"$(cat marks/* 2> /dev/null | wc -l)\" = 8 ]; }\n"
        "is_weft() { [ /proc/$job/exe -ef " WEFT_BUILD_DIR
        "/weft ]; }\n"
        "has_ended() { [ \"$(who_works_here)\" = \"$before\" ]; }\n"
        "expect_ended() {\n"
        "    until_true has_ended || { echo $1: some live on; cat said; ps -fp \"$(echo "
        "$(who_works_here) | tr ' ' ,)\"; exit 1; }\n"
        "}\n"
        // A shell's background jobs ignore SIGINT.
        "round() {\n"
        "    rm -rf marks; mkdir marks\n"
        "    setsid env --default-signal=INT " +
        on_nodes +
        " --grace 0.1 --ssh ./ssh sh rank > said 2>&1 &\n"
        "    job=$!\n"
        "    eval \"$2\" || { echo $1: not all have started; cat said; exit 1; }\n"
        "    eval \"$3\"\n"
        "    wait $job\n"
        "    [ $? != 0 ] || { echo $1: the launcher succeeded; exit 1; }\n"
        "    expect_ended \"$1\"\n"
        "}\n";
    for (const End& end : ends) {
        if (!is_each && GetParam() != end.name) continue;
        script += std::string("for i in $(seq ") + (is_each ? "1" : "50") + "); do round '" +
                  end.name + "' '" + end.awaited + "' '" + end.deed + "' >&2 || exit; done\n";
    }
    // A share that had only begun to start when its launcher ended would show now.
    script += "sleep 0.3\nexpect_ended 'at last' >&2\nkill $servers\nexit 0\n";
    expect_success(beside_nodes(script, is_each ? 55 : 220));
}

}  // namespace weft::test::hosts_test
