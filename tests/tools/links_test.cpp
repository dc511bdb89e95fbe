// Which links of a node carry a job's messages, counted at the interfaces of an emulated cluster.
#include "support/process.h"
#include "support/surroundings.h"
#include "support/test.h"

namespace weft::test::links_test {

constexpr std::size_t ranks = 4;
constexpr std::size_t links = 2;
constexpr std::uint64_t block_bytes = 1 << 20;

struct Way {
    const char* name;
    const char* algorithm;
    const char* transport;
    const char* engine = "auto";
};

// An allgather in which every rank sends ranks - 1 blocks.
class Links : public testing::TestWithParam<Way> {
  protected:
    void SetUp() override {
        const bool is_ucx = GetParam().transport == std::string("ucx");
        if (is_ucx && !runs_all() && GetParam().algorithm != std::string("ring"))
            GTEST_SKIP() << "only in a run of all tests";
        if (const std::string absence = is_ucx ? ucx_absence("tcp") : ""; !absence.empty())
            GTEST_SKIP() << absence;
        if (const std::string absence = absence_of(GetParam().engine); !absence.empty())
            GTEST_SKIP() << absence;
        if (!WEFT_HAS_TCP && !is_ucx) GTEST_SKIP() << "without tcp there is nothing between nodes";
        if (const std::string absence =
                absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
            !absence.empty()) {
            GTEST_SKIP() << absence;
        }
    }

    // By rank, and so by node: what each link sent, then what each received.
    static std::vector<std::vector<std::uint64_t>> carried(const std::string& operations) {
        const std::string n = std::to_string(ranks);
        const Finished job = expect_success(
            "PATH=$PATH:/usr/sbin:/sbin UCX_TLS=tcp UCX_LOG_LEVEL=error WEFT_TRANSPORT=" +
            std::string(GetParam().transport) + " " + settings_of(GetParam().engine) +
            " WEFT_ALGORITHM=allgather=" + GetParam().algorithm +
            " " WEFT_BUILD_DIR "/weft run --timeout 50 -n " + n + " --nodes " + n +
            " --rate 1gbit --links " + std::to_string(links) +
            " " WEFT_BUILD_DIR "/tests/tools/links_program " + std::to_string(links) + " " +
            std::to_string(block_bytes) + " " + operations);
        std::vector<std::vector<std::uint64_t>> nodes;
        for (const std::string& line : sorted_lines(job.out)) {
            std::istringstream numbers(line.substr(line.find(':') + 1));
            std::vector<std::uint64_t> sent(links);
            std::vector<std::uint64_t> received(links);
            for (std::size_t link = 0; link < links; ++link)
                numbers >> sent[link] >> received[link];
            nodes.push_back(sent);
            nodes.push_back(received);
        }
        EXPECT_EQ(nodes.size(), 2 * ranks) << job.out;
        return nodes;
    }

    static std::uint64_t total(const std::vector<std::uint64_t>& bytes) {
        return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    }
};

INSTANTIATE_TEST_SUITE_P(By, Links,
                         testing::Values(Way{"Ring", "ring", "tcp"},
                                         Way{"ThreePort", "bruck:ports=3", "tcp"},
                                         Way{"RingByLists", "ring", "tcp", "kernel"},
                                         Way{"RingOverUcx", "ring", "ucx"},
                                         Way{"ThreePortOverUcx", "bruck:ports=3", "ucx"}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Links, CarryDistinctStreams) {
    for (const auto& node : carried("streams")) {
        EXPECT_GE(total(node), links * (ranks - 1) * block_bytes);
        for (const std::uint64_t bytes : node) EXPECT_GE(bytes, total(node) / 4);
    }
}

// With task lists all messages to one peer use one link; in a ring, a node sends on one link and receives on the other.
TEST_P(Links, CarryEqualPartsOfOneCollectiveAndTogetherWhatItSends) {
    const auto nodes = carried("once");
    for (const auto& node : nodes) {
        EXPECT_GE(total(node), (ranks - 1) * block_bytes);
        EXPECT_LE(total(node), (ranks - 1) * block_bytes * 5 / 4) << "with headers";
    }
    if (GetParam().engine == std::string("kernel")) {
        for (std::size_t node = 0; node + 1 < nodes.size(); node += 2) {
            const auto& sent = nodes[node];
            const auto& received = nodes[node + 1];
            EXPECT_LE(std::ranges::min(sent), block_bytes / 50) << node / 2;
            EXPECT_LE(std::ranges::min(received), block_bytes / 50) << node / 2;
            EXPECT_EQ(std::ranges::max_element(sent) - sent.begin(),
                      std::ranges::min_element(received) - received.begin())
                << node / 2;
        }
        return;
    }
    for (const auto& node : nodes) {
        const auto [least, most] = std::minmax_element(node.begin(), node.end());
        EXPECT_GE(static_cast<double>(*least), 0.9 * static_cast<double>(*most));
    }
}

// Also its streams, and on all nodes; the next communicator has another link.
TEST_P(Links, ACommunicatorCanKeepToOne) {
    std::set<std::size_t> used;
    for (const char* which : {"limited", "limited_again"}) {
        const auto nodes = carried(which);
        ASSERT_FALSE(nodes.empty());
        const auto most = std::ranges::max_element(nodes.front()) - nodes.front().begin();
        const auto link = static_cast<std::size_t>(most);
        for (const auto& node : nodes) {
            EXPECT_GE(node[link], links * (ranks - 1) * block_bytes) << which;
            EXPECT_LE(total(node) - node[link], block_bytes / 50) << which;
        }
        used.insert(link);
    }
    EXPECT_EQ(used.size(), links);
}

}  // namespace weft::test::links_test
