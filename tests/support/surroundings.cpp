#include "support/surroundings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/assert.h"
#include "engine/engine.h"
#include "offload/offload.h"
#include "support/process.h"
#if WEFT_HAS_UCX
#include "transport/ucx/worker.h"
#endif

namespace weft::test {
namespace {

// iproute2 is not in every user's PATH.
const std::string sbin = "PATH=$PATH:/usr/sbin:/sbin ";

}  // namespace

const std::vector<Surroundings>& surroundings() {
    static const std::vector<Surroundings> table =
    { {"shm", "WEFT_TRANSPORT=shm", false, 0, false},
#if WEFT_HAS_TCP
      {"tcp", "WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo", false, 3, true},
      {"tcp_dedicated", "WEFT_TRANSPORT=tcp WEFT_INTERFACES=lo WEFT_HOOK_DEDICATE=1", false, 3,
       false, true},
      {"tcp_ipv6", "WEFT_TRANSPORT=tcp WEFT_INTERFACES=::1", false, 2, false, true},
      {"mixed", "WEFT_TRANSPORT=auto", true, 4, true},
#endif
#if WEFT_HAS_UCX
      {"ucx_tcp",
       "WEFT_TRANSPORT=ucx UCX_TLS=tcp UCX_NET_DEVICES=lo UCX_LOG_LEVEL=error WEFT_PEER_TIMEOUT=1",
       false, 3, false, true, "tcp"},
      {"ucx_nodes", "WEFT_TRANSPORT=ucx UCX_TLS=tcp UCX_LOG_LEVEL=error WEFT_PEER_TIMEOUT=1", true,
       4, false, true, "tcp"},
#endif
    };
#if WEFT_HAS_UCX
    static const std::vector<Surroundings> more = {
        {"ucx_posix", "WEFT_TRANSPORT=ucx UCX_TLS=posix UCX_LOG_LEVEL=error WEFT_PEER_TIMEOUT=1",
         false, 3, false, true, "posix"},
        {"ucx_all", "WEFT_TRANSPORT=ucx UCX_LOG_LEVEL=error WEFT_PEER_TIMEOUT=1", false, 3, false,
         true, "all"},
    };
    static const std::vector<Surroundings> all = [] {
        std::vector<Surroundings> both = table;
        both.insert(both.end(), more.begin(), more.end());
        return both;
    }();
    if (runs_all()) return all;
#endif
    return table;
}

const Surroundings& surroundings(const std::string& name) {
    const auto place = std::ranges::find(surroundings(), name, &Surroundings::name);
    WEFT_ASSERT(place != surroundings().end());
    return *place;
}

std::string Surroundings::command(const Job& job) const {
    const std::string build = WEFT_BUILD_DIR;
    const std::string nodes = has_nodes ? " --nodes " + std::to_string(std::min(2, job.ranks)) : "";
    return (has_nodes ? sbin : "") + settings + " " + job.settings + " " + build + "/weft run " +
           job.options + nodes + " -n " + std::to_string(job.ranks) + " " + build + "/" +
           job.program;
}

std::vector<int> Surroundings::some_of(std::initializer_list<int> ranks) const {
    if (usual_ranks == 0 || runs_all()) return ranks;
    const bool is_one = std::ranges::find(ranks, usual_ranks) != ranks.end();
    return {is_one ? usual_ranks : *(ranks.end() - 1)};
}

std::string Surroundings::absence() const {
    if (std::string(name) == "tcp_ipv6" && !std::filesystem::exists("/proc/sys/net/ipv6")) {
        return "no IPv6 on this machine";
    }
    if (const std::string absence = ucx != nullptr ? ucx_absence(ucx) : ""; !absence.empty())
        return absence;
    if (!has_nodes) return "";
    static const std::string nodes =
        absence_of_nodes(geteuid() == 0 ? "unshare " : "unshare --user --map-root-user ");
    return nodes;
}

std::string ucx_absence([[maybe_unused]] const char* tls) {
#if WEFT_HAS_UCX
    setenv("UCX_TLS", tls, 1);
    const bool works = ucx::Worker::open({}).is_ok();
    unsetenv("UCX_TLS");
    return works ? "" : last_detail();
#else
    return WEFT_UCX_ABSENCE;
#endif
}

std::vector<Driven> driven_by(std::initializer_list<const char*> engines) {
    std::vector<Driven> all;
    for (const Surroundings& where : surroundings()) {
        for (const char* engine : engines) {
            const std::optional<EngineKind> kind = engine_named(engine);
            const bool offloads = kind && traits(*kind).offloads;
            if (where.suits_kernel || !offloads) all.emplace_back(where, engine);
        }
    }
    return all;
}

std::string settings_of(const std::string& engine) {
    const std::optional<EngineKind> kind = engine_named(engine);
    WEFT_ASSERT(kind);
    return "WEFT_ENGINE=" + engine + (traits(*kind).offloads ? " WEFT_HOOK_OFFER_ALL=1" : "");
}

std::string absence_of(const std::string& engine) {
    const std::optional<EngineKind> kind = engine_named(engine);
    return kind && traits(*kind).offloads ? kernel_engine_absence() : "";
}

std::size_t test_turn() {
    const char* text = std::getenv("WEFT_TEST_TURN");
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

bool runs_all() { return std::getenv("WEFT_TEST_ALL") != nullptr; }

bool is_its_turn(std::size_t one_in) {
    if (runs_all() || std::getenv("WEFT_TEST_TURN") == nullptr) return true;
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    const testing::TestSuite* const suite = testing::UnitTest::GetInstance()->current_test_suite();
    std::size_t number = 0;  // of the values of one test, which follow one another
    while (suite->GetTestInfo(static_cast<int>(number)) != test) ++number;
    const std::string_view name = test->name();
    return (number + std::hash<std::string_view>{}(name.substr(0, name.find('/'))) + test_turn()) %
               one_in ==
           0;
}

std::string absence_of_nodes(const std::string& unshare) {
    const Finished tried = run(
        "PATH=$PATH:/usr/sbin:/sbin; " + unshare +
        "--net sh -c 'ip link add end0 type veth peer name end1 && ip link add br0 type bridge && "
        "tc qdisc add dev end0 root tbf rate 1gbit burst 128kb latency 50ms'");
    return tried.status == 0 ? "" : "no emulated clusters on this machine: " + tried.err;
}

std::vector<Over> ways_between_threads() {
    std::vector<Over> ways = {Over::shm};
    if (WEFT_HAS_TCP) ways.insert(ways.end(), {Over::tcp, Over::mixed});
    ways.push_back(Over::mpi);
    if (runs_all() && ucx_absence("tcp").empty()) ways.push_back(Over::ucx);
    return ways;
}

const char* name_of(Over over) {
    switch (over) {
        case Over::shm: return "shm";
        case Over::tcp: return "tcp";
        case Over::mixed: return "mixed";
        case Over::mpi: return "mpi";
        case Over::ucx: return "ucx";
    }
    return "";
}

}  // namespace weft::test
