// Which of UCX's devices become links, and which memory is a device's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "transport/ucx/worker.h"

namespace weft::test {
namespace {

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
        {"self", "", " reaches no other rank: it has only self/memory0 (UCX_TLS='self')"}};
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

}  // namespace
}  // namespace weft::test
