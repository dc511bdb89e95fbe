// Which of UCX's devices become links, which memory is a device's, and what UCX lacks here.
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/ucx/worker.h"

#include "support/limits.h"
#include "support/test.h"

namespace weft::test::ucx_devices_test {

using Names = std::vector<std::string>;

// A node with two TCP interfaces, and one with two adapters besides.
const std::vector<ucx::Device> ethernet = {
    {"self", "memory"}, {"posix", "memory"}, {"tcp", "lo"}, {"tcp", "eth0"}, {"tcp", "eth1"}};
const std::vector<ucx::Device> infiniband = {{"posix", "memory"},      {"tcp", "eth0"},
                                             {"tcp", "eth1"},          {"rc_verbs", "mlx5_0:1"},
                                             {"rc_verbs", "mlx5_1:1"}, {"ud_mlx5", "mlx5_0:1"},
                                             {"ud_mlx5", "mlx5_1:1"}};

Names links(const std::vector<ucx::Device>& devices, const std::string& interfaces,
            bool only_fabric = false) {
    return ucx::links_among(devices, {.only_fabric = only_fabric, .interfaces = interfaces});
}

class UcxLinks : public testing::Test {
  protected:
    void SetUp() override { unsetenv("UCX_NET_DEVICES"); }
    void TearDown() override { unsetenv("UCX_NET_DEVICES"); }
};

TEST_F(UcxLinks, AreTheInterfacesThatAreNamed) {
    EXPECT_EQ(links(ethernet, "eth1,eth0"), (Names{"eth1", "eth0"}));
    EXPECT_EQ(links(ethernet, "eth0,eth0:6"), Names{"eth0"}) << "each once";
    EXPECT_EQ(links(ethernet, "127.0.0.1"), Names{"lo"});
}

TEST_F(UcxLinks, AreNotMadeUnlessDevicesAreNamed) {
    EXPECT_EQ(links(ethernet, ""), Names{});
    EXPECT_EQ(links(infiniband, ""), Names{});
}

TEST_F(UcxLinks, LeaveAFabricToUcxUnlessItsDevicesAreNamed) {
    EXPECT_EQ(links(infiniband, "", true), Names{"mlx5_0:1,mlx5_1:1"});
    EXPECT_EQ(links(infiniband, "eth0", true), Names{"mlx5_0:1,mlx5_1:1"});
    EXPECT_EQ(links(infiniband, "eth0"), Names{"mlx5_0:1,mlx5_1:1,eth0"});
    EXPECT_EQ(links(infiniband, "mlx5_1:1,mlx5_0:1", true), (Names{"mlx5_1:1", "mlx5_0:1"}));
    EXPECT_EQ(links(infiniband, "mlx5_1:1"), Names{"mlx5_1:1"});
}

TEST_F(UcxLinks, AreUcxsToChooseIfItsOwnSettingNamesDevices) {
    setenv("UCX_NET_DEVICES", "eth0,eth1", 1);
    EXPECT_EQ(links(ethernet, "eth0,eth1"), Names{});
}

class UcxInterfaces : public UcxLinks {
  protected:
    // Why these are refused; empty: they are not.
    static std::string refusal(const std::vector<ucx::Device>& devices,
                               const std::string& interfaces, bool only_fabric = false) {
        const Status status =
            ucx::check_interfaces(devices, {.only_fabric = only_fabric, .interfaces = interfaces});
        EXPECT_TRUE(status.is_ok() || status.code == WEFT_REFUSED_SETTING);
        return status.is_ok() ? "" : last_detail();
    }
};

TEST_F(UcxInterfaces, AreRefusedByNameIfUcxHasNoSuchDevice) {
    EXPECT_EQ(refusal(ethernet, ""), "");
    EXPECT_EQ(refusal(ethernet, "eth1,eth0:6"), "");
    EXPECT_EQ(
        refusal(ethernet, "eth0,weft-none"),
        "WEFT_INTERFACES names 'weft-none'; UCX has no such device, only tcp/lo tcp/eth0 tcp/eth1")
        << "it would use one link";
    EXPECT_NE(refusal(ethernet, "weft-none"), "") << "it would listen everywhere";
    EXPECT_NE(refusal(ethernet, "eth0,memory"), "");
    EXPECT_EQ(refusal(infiniband, "mlx5_0:1,eth0"), "");
    EXPECT_NE(refusal(infiniband, "mlx5_7:1,eth0"), "");
}

TEST_F(UcxInterfaces, NeedNotBeDevicesIfUcxDoesNotUseThem) {
    const std::vector<ucx::Device> memory = {{"posix", "memory"}};
    EXPECT_EQ(refusal(memory, "lo"), "");
    EXPECT_EQ(refusal(memory, "lo,weft-none"),
              "WEFT_INTERFACES names 'weft-none'; UCX has no such device, only memory");
    EXPECT_EQ(refusal(infiniband, "weft-none", true), "") << "by auto, tcp refuses it";
    setenv("UCX_NET_DEVICES", "eth0", 1);
    EXPECT_EQ(refusal(ethernet, "eth0,weft-none"), "");
}

// UCX is there, but finds nothing to use.
TEST(Ucx, SaysWhyItCannotBeUsed) {
    if (!ucx::library().is_ok()) GTEST_SKIP() << last_detail();
    setenv("UCX_LOG_LEVEL", "fatal", 1);
    struct {
        const char* tls;
        const char* devices;
        const char* sentence;
    } const settings[] = {
        {"nothing", "", " cannot use any device: No such device (UCX_TLS='nothing'"},
        {"tcp", "nowhere0", " (UCX_TLS='tcp', UCX_NET_DEVICES='nowhere0')"},
        {"self", "", " reaches no other rank: it has only self/memory"}};
    for (const auto& one : settings) {
        setenv("UCX_TLS", one.tls, 1);
        if (*one.devices != '\0') setenv("UCX_NET_DEVICES", one.devices, 1);
        Result<ucx::Workers> workers = ucx::Worker::open({});
        EXPECT_EQ(workers.status().code, WEFT_REFUSED_UNSUPPORTED) << one.tls;
        EXPECT_NE(std::string(last_detail()).find(one.sentence), std::string::npos)
            << last_detail();
        unsetenv("UCX_NET_DEVICES");
    }
    unsetenv("UCX_TLS");
    unsetenv("UCX_LOG_LEVEL");
}

// Of a child: 0: UCX was opened, or refused with this sentence; 2: there can be no such limit here.
template <class Limit>
int end_of_opening(const char* tls, const Limit& limit, const std::string& sentence) {
    const pid_t child = fork();
    if (child == 0) {
        setenv("UCX_TLS", tls, 1);
        setenv("UCX_LOG_LEVEL", "fatal", 1);
        setenv("UCX_HANDLE_ERRORS", "none", 1);
        if (!limit()) _exit(2);
        bool is_expected = true;
        {
            const Result<ucx::Workers> workers = ucx::Worker::open({});
            const std::string detail = workers.is_ok() ? "" : last_detail();
            is_expected = workers.is_ok() ? sentence.empty() : detail.find(sentence) != detail.npos;
        }
        _exit(is_expected ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

bool set_limit(decltype(RLIMIT_NOFILE) which, rlim_t value) {
    rlimit limit{};
    if (getrlimit(which, &limit) != 0) return false;
    limit.rlim_cur = value;
    return setrlimit(which, &limit) == 0;
}

// From now on no thread can be started in this process.
bool refuse_threads() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return filter_calls(filter);
}

// Where UCX would end the process by a signal.
class UcxUnderLimits : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!ucx::library().is_ok()) GTEST_SKIP() << last_detail();
        const int end = end_of_opening(
            GetParam(), [] { return true; }, "");
        if (end != 0) GTEST_SKIP() << "UCX has no " << GetParam() << " here";
    }
};
INSTANTIATE_TEST_SUITE_P(Ucx, UcxUnderLimits, testing::Values("posix", "tcp", "all"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(UcxUnderLimits, NeedsAThread) {
    const int end = end_of_opening(GetParam(), refuse_threads, "UCX needs a thread");
    if (WIFEXITED(end) && WEXITSTATUS(end) == 2) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(end, 0);
}

TEST_P(UcxUnderLimits, SaysHowLargeFilesMayBe) {
    if (GetParam() == std::string("tcp")) GTEST_SKIP() << "it needs no file";
    for (const rlim_t bytes : {4096u, 1'000'000u}) {
        const std::string sentence = "no file may be larger than " + std::to_string(bytes) +
                                     " bytes (ulimit -f, RLIMIT_FSIZE)";
        const auto limit = [&] { return set_limit(RLIMIT_FSIZE, bytes); };
        EXPECT_EQ(end_of_opening(GetParam(), limit, sentence), 0) << bytes;
    }
}

TEST_P(UcxUnderLimits, NeedsDescriptors) {
    for (rlim_t descriptors = 3; descriptors < 40; ++descriptors) {
        const auto limit = [&] { return set_limit(RLIMIT_NOFILE, descriptors); };
        const bool are_too_few = descriptors < 10;
        const int end = end_of_opening(GetParam(), limit,
                                       are_too_few ? "UCX needs 10 descriptors or more; " : "");
        // (Whether more are enough depends on the devices.)
        EXPECT_TRUE(are_too_few ? end == 0 : WIFEXITED(end)) << descriptors << " descriptors";
    }
}

// On TCP devices outside the chosen interfaces, too.
TEST_F(UcxInterfaces, ThatAreNotThereOpenNothing) {
    if (!ucx::library().is_ok()) GTEST_SKIP() << last_detail();
    setenv("UCX_TLS", "tcp", 1);
    const Result<ucx::Workers> all = ucx::Worker::open({});
    if (all.is_ok()) {
        for (const char* interfaces : {"weft-none", "lo,weft-none"}) {
            const Result<ucx::Workers> workers = ucx::Worker::open({.interfaces = interfaces});
            EXPECT_EQ(workers.status().code, WEFT_REFUSED_SETTING) << interfaces;
            EXPECT_NE(std::string(last_detail()).find("WEFT_INTERFACES names 'weft-none'"),
                      std::string::npos)
                << last_detail();
        }
    }
    unsetenv("UCX_TLS");
    if (!all.is_ok()) GTEST_SKIP() << "UCX has no TCP device here";
}

TEST(UcxMemory, OfADeviceIsNamed) {
    EXPECT_STREQ(ucx::device_memory_named(UCS_MEMORY_TYPE_CUDA), "CUDA");
    EXPECT_STREQ(ucx::device_memory_named(UCS_MEMORY_TYPE_ROCM), "ROCm");
    for (const ucs_memory_type_t usable : {UCS_MEMORY_TYPE_HOST, UCS_MEMORY_TYPE_CUDA_MANAGED,
                                           UCS_MEMORY_TYPE_ROCM_MANAGED, UCS_MEMORY_TYPE_UNKNOWN})
        EXPECT_EQ(ucx::device_memory_named(usable), nullptr) << usable;
    const std::uint64_t host = 1u << UCS_MEMORY_TYPE_HOST | 1u << UCS_MEMORY_TYPE_CUDA_MANAGED;
    EXPECT_FALSE(ucx::is_of_device(host));
    EXPECT_TRUE(ucx::is_of_device(host | 1u << UCS_MEMORY_TYPE_ROCM));
}

TEST(UcxMemory, OfTheHostIsNotOfADevice) {
    if (!ucx::library().is_ok()) GTEST_SKIP() << last_detail();
    const int here = 0;
    EXPECT_EQ(ucx::device_memory_at(&here), nullptr);
    Result<ucx::Workers> workers = ucx::Worker::open({});
    if (!workers.is_ok()) GTEST_SKIP() << last_detail();
    EXPECT_NE(workers->front()->memory_kinds() & 1u << UCS_MEMORY_TYPE_HOST, 0u);
    EXPECT_EQ(ucx::device_memory_at(&here), nullptr);
}

}  // namespace weft::test::ucx_devices_test
