// Which of UCX's devices become links.
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
    EXPECT_EQ(links(ethernet, "eth7"), Names{}) << "which opening them refuses";
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

}  // namespace
}  // namespace weft::test
